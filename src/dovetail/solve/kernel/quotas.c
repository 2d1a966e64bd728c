/* How many pods of a group go to which cell? The compiled twin of quotas.py and settle.py, for groups
 * that find no room on any node, so that all of them go to what can be launched, and that prefer no
 * cell: group after group in the order given. Included by kernel.c; whoever calls it owns all memory.
 */

typedef struct {
    int64_t n_groups, n_cells, has_weights;
    const int64_t *domain;  /* keys x cells; -1: the cell has none */
    /* zone terms; `start` is where the domains of each begin in what is counted by domain */
    const int64_t *kind, *key, *skew, *min_domains, *start, *size;
    const uint8_t *counts;  /* x cells */
    const uint8_t *is_lone; /* only one group is concerned, and nobody runs */
    /* by term and domain */
    int64_t *match, *own;
    uint8_t *foreseen;
    const uint8_t *seen;  /* nodes that are there make it */
    const int64_t *followers;
    const uint8_t *has_followers;  /* by term */
    /* groups */
    const int64_t *count, *own_from, *own_terms, *match_from, *match_terms;
    const int64_t *lack_from, *lacks, *offer_from, *offered;  /* company on a node: wanted, given */
    const uint8_t *may_lead, *wants_host;
    const uint8_t *is_open;        /* x cells */
    const int64_t *order, *weight; /* x cells: the best first, and the heaviest pool of each */
    /* scratch */
    uint8_t *is_there;     /* company on a node: who is settled already */
    uint8_t *launch, *allowed, *fine, *reach;
    int64_t *most, *crowd, *lure;
    /* answers */
    int64_t *placed;       /* groups x cells */
    int64_t *n_turns, *cells, *steps;
    int64_t n_turns_in_all;
} Quotas;

SIZE_OF(Quotas);

typedef struct {
    const int64_t *own, *match, *order;
    int64_t number, n_own, n_match, is_first;
} Turned;  /* the group whose turn it is */

static int is_among(const int64_t *terms, int64_t n, int64_t term) {
    for (int64_t i = 0; i < n; i++)
        if (terms[i] == term) return 1;
    return 0;
}

static int64_t domain_at(const Quotas *q, int64_t term, int64_t cell) {
    return q->domain[q->key[term] * q->n_cells + cell];
}

static int64_t counted_at(const Quotas *q, const int64_t *counted, int64_t term, int64_t cell) {
    int64_t domain = domain_at(q, term, cell);
    return domain < 0 ? 0 : counted[q->start[term] + domain];
}

static int is_empty(const Quotas *q, int64_t term) {
    for (int64_t d = 0; d < q->size[term]; d++)
        if (q->match[q->start[term] + d]) return 0;
    return 1;
}

static int lures(const Quotas *q, int64_t term) { return q->has_followers[term] && is_empty(q, term); }

static void record(Quotas *q, const Turned *g, int64_t cell, int64_t count) {
    for (int64_t i = 0; i < g->n_match; i++) {
        int64_t term = g->match[i], domain = domain_at(q, term, cell);
        if (domain >= 0 && q->counts[term * q->n_cells + cell]) q->match[q->start[term] + domain] += count;
    }
    for (int64_t i = 0; i < g->n_own; i++) {
        int64_t term = g->own[i], domain = domain_at(q, term, cell);
        if (domain >= 0) q->own[q->start[term] + domain] += count;
    }
}

static void take_turn(Quotas *q, const Turned *g, int64_t cell, int64_t step) {
    q->placed[g->number * q->n_cells + cell] += step;
    q->cells[q->n_turns_in_all] = cell;
    q->steps[q->n_turns_in_all++] = step;
    q->n_turns[g->number]++;
}

/* Whether nodes that are there make a domain which is not in `reach`. */
static int has_others(const Quotas *q, int64_t term) {
    for (int64_t d = 0; d < q->size[term]; d++)
        if (q->seen[q->start[term] + d] && !q->reach[d]) return 1;
    return 0;
}

/* The domains that can be launched into, in `reach`; answers how many. */
static int64_t launched(Quotas *q, int64_t term) {
    int64_t n = 0;
    for (int64_t d = 0; d < q->size[term]; d++) q->reach[d] = 0;
    for (int64_t c = 0; c < q->n_cells; c++)
        if (q->launch[c] && domain_at(q, term, c) >= 0) q->reach[domain_at(q, term, c)] = 1;
    for (int64_t d = 0; d < q->size[term]; d++) n += q->reach[d];
    return n;
}

/* The domains over which a spread takes its minimum, in `reach`; answers how many. */
static int64_t reached(Quotas *q, int64_t term) {
    int64_t n = launched(q, term);
    for (int64_t d = 0; d < q->size[term]; d++) {
        int is_new = q->seen[q->start[term] + d] && !q->reach[d];
        q->reach[d] |= is_new;
        n += is_new;
    }
    return n;
}

static void foresee(Quotas *q, const Turned *g) {
    for (int64_t i = 0; i < g->n_own; i++) {
        int64_t term = g->own[i];
        if (q->kind[term] != SPREAD) continue;
        reached(q, term);
        for (int64_t d = 0; d < q->size[term]; d++) q->foreseen[q->start[term] + d] &= q->reach[d];
    }
}

/* ------------------------------------------------------------------ a spread that is alone */

static int settle_lone(Quotas *q, const Turned *g) {
    if (g->n_own != 1 || g->n_match != 1 || g->own[0] != g->match[0] || q->wants_host[g->number]) return 0;
    int64_t term = g->own[0];
    if (q->kind[term] != SPREAD || !q->is_lone[term]) return 0;
    int64_t n = launched(q, term), count = q->count[g->number], skew = q->skew[term], low = 0, high = skew;
    if (n == 0 || has_others(q, term)) return 0;
    if (n >= q->min_domains[term]) {
        int64_t beyond = count - (n - 1) * skew;
        low = beyond > 0 ? (beyond + n - 1) / n : 0;
        high = least(low + skew, count - (n - 1) * low);
    }
    if (high < 0) high = 0;
    /* The cheapest cell of each domain, in `crowd`; domains in the order of those cells. */
    int64_t n_best = 0;
    for (int64_t i = 0; i < q->n_cells; i++) {
        int64_t cell = g->order[i], domain = domain_at(q, term, cell);
        if (!q->launch[cell] || domain < 0 || !q->reach[domain]) continue;
        q->reach[domain] = 0;
        q->crowd[n_best++] = cell;
    }
    for (int64_t c = 0; c < q->n_cells; c++) q->most[c] = 0;
    for (int64_t i = 0; i < n_best; i++) count -= q->most[q->crowd[i]] = least(low, count);
    for (int64_t i = 0; i < n_best; i++) {
        int64_t more = least(high - low, count);
        q->most[q->crowd[i]] += more;
        count -= more;
    }
    foresee(q, g);
    int64_t left = q->count[g->number] - count;
    for (int64_t c = 0; c < q->n_cells; c++) record(q, g, c, q->most[c]);
    for (int64_t level = 0; left > 0; level++)
        for (int64_t c = 0; c < q->n_cells; c++)
            if (q->most[c] > level) {
                take_turn(q, g, c, 1);
                left--;
            }
    return 1;
}

/* ------------------------------------------------------------------ pouring */

/* Whether each cell to launch into is a domain of its own that a spread counts, and there is no other. */
static int spreads_evenly(Quotas *q, int64_t term, int64_t n_open) {
    if (q->kind[term] != SPREAD || n_open < q->min_domains[term]) return 0;
    for (int64_t d = 0; d < q->size[term]; d++) q->reach[d] = 0;
    for (int64_t c = 0; c < q->n_cells; c++) {
        if (!q->launch[c]) continue;
        int64_t domain = domain_at(q, term, c);
        if (domain < 0 || q->reach[domain] || !q->counts[term * q->n_cells + c]) return 0;
        q->reach[domain] = 1;
    }
    return !has_others(q, term);
}

/* Each pod to where the fewest are, for a group that is only spread or counted; 0 if it is not so. */
static int pour_out(Quotas *q, const Turned *g) {
    int64_t n_open = 0;
    const int64_t *weight = q->weight + g->number * q->n_cells;
    int64_t heaviest = -1, lightest = -1;
    for (int64_t c = 0; c < q->n_cells; c++) {
        if (!q->launch[c]) continue;
        if (n_open == 0 || weight[c] > heaviest) heaviest = weight[c];
        if (n_open++ == 0 || weight[c] < lightest) lightest = weight[c];
    }
    if (heaviest != lightest) return 0;
    if (n_open == 0 || g->n_own > 1) return 0;
    if (g->n_own && (!is_among(g->match, g->n_match, g->own[0]) || !spreads_evenly(q, g->own[0], n_open))) return 0;
    for (int64_t c = 0; c < q->n_cells; c++) q->crowd[c] = 0;
    for (int64_t i = 0; i < g->n_match; i++) {
        int64_t term = g->match[i];
        if (q->kind[term] == ANTI || lures(q, term)) return 0;
        if (q->kind[term] != SPREAD || (g->n_own && term != g->own[0])) continue;
        for (int64_t c = 0; c < q->n_cells; c++) q->crowd[c] += counted_at(q, q->match, term, c);
    }
    for (int64_t left = q->count[g->number]; left > 0; left--) {
        int64_t best = -1;
        for (int64_t i = 0; i < q->n_cells; i++) {
            int64_t cell = g->order[i];
            if (q->launch[cell] && (best < 0 || q->crowd[cell] < q->crowd[best])) best = cell;
        }
        q->crowd[best]++;
        take_turn(q, g, best, 1);
    }
    for (int64_t c = 0; c < q->n_cells; c++) {
        int64_t more = q->placed[g->number * q->n_cells + c];
        if (more) record(q, g, c, more);
    }
    return 1;
}

/* ------------------------------------------------------------------ turn by turn */

/* No more at once than what keeps counts level, among the cells that are `fine`. */
static void keep_level(Quotas *q, int64_t term) {
    int64_t lowest = -1, next = -1;
    for (int64_t c = 0; c < q->n_cells; c++) {
        if (!q->fine[c]) continue;
        int64_t held = counted_at(q, q->match, term, c);
        if (lowest < 0 || held < lowest) {
            next = lowest;
            lowest = held;
        } else if (held > lowest && (next < 0 || held < next)) next = held;
    }
    int64_t above = next < 0 ? lowest + 1 : next;
    for (int64_t c = 0; c < q->n_cells; c++) {
        int64_t step = lowest < 0 ? 1 : above - counted_at(q, q->match, term, c);
        q->most[c] = least(q->most[c], step > 1 ? step : 1);
    }
}

static void allow_spread(Quotas *q, const Turned *g, int64_t term) {
    int64_t n = reached(q, term), lowest = -1;
    for (int64_t d = 0; d < q->size[term]; d++) {
        int64_t held = q->match[q->start[term] + d];
        if (q->reach[d] && (lowest < 0 || held < lowest)) lowest = held;
    }
    int64_t highest = q->skew[term] + (n == 0 || n < q->min_domains[term] ? 0 : lowest);
    int is_self = is_among(g->match, g->n_match, term);
    for (int64_t c = 0; c < q->n_cells; c++) {
        int64_t room = highest - counted_at(q, q->match, term, c);
        q->allowed[c] &= domain_at(q, term, c) >= 0;
        if (is_self) q->most[c] = least(q->most[c], room);
        else if (room < 0) q->most[c] = 0;
        q->fine[c] = q->allowed[c] && q->most[c] > 0;
    }
    keep_level(q, term);
}

static void allow_own(Quotas *q, const Turned *g, int64_t term) {
    if (q->kind[term] == SPREAD) {
        allow_spread(q, g, term);
        return;
    }
    int nobody = g->is_first && is_empty(q, term), is_self = is_among(g->match, g->n_match, term);
    for (int64_t c = 0; c < q->n_cells; c++) {
        int is_inside = domain_at(q, term, c) >= 0;
        int64_t held = counted_at(q, q->match, term, c);
        if (q->kind[term] == AFFINITY) q->allowed[c] &= is_inside && (held > 0 || nobody);
        else {
            q->allowed[c] &= !is_inside || held == 0;
            if (is_self && is_inside) q->most[c] = least(q->most[c], 1);
        }
    }
}

/* The cells where the next pod may go, and how many may follow it at once; answers whether any is. */
static int allow(Quotas *q, const Turned *g) {
    int any = 0;
    for (int64_t c = 0; c < q->n_cells; c++) {
        q->allowed[c] = q->launch[c];
        q->most[c] = q->launch[c] ? (int64_t)1 << 40 : 0;
    }
    for (int64_t i = 0; i < g->n_own; i++) allow_own(q, g, g->own[i]);
    for (int64_t i = 0; i < g->n_match; i++) {
        int64_t term = g->match[i];
        if (q->kind[term] == ANTI)
            for (int64_t c = 0; c < q->n_cells; c++) q->allowed[c] &= counted_at(q, q->own, term, c) == 0;
        else if (q->kind[term] == SPREAD && !is_among(g->own, g->n_own, term)) {
            for (int64_t c = 0; c < q->n_cells; c++) q->fine[c] = q->allowed[c];
            keep_level(q, term);
        }
    }
    for (int64_t c = 0; c < q->n_cells; c++) any |= q->allowed[c] &= q->most[c] > 0;
    return any;
}

/* Where others can follow, then heavier pools, then where counts are lowest, then where it is cheapest. */
static int64_t best_cell(Quotas *q, const Turned *g) {
    const int64_t *weight = q->weight + g->number * q->n_cells;
    int64_t best = -1;
    for (int64_t c = 0; c < q->n_cells; c++) q->crowd[c] = q->lure[c] = 0;
    for (int64_t i = 0; i < g->n_match; i++) {
        int64_t term = g->match[i];
        int is_spread = q->kind[term] == SPREAD;
        if (!is_spread && !lures(q, term)) continue;
        for (int64_t c = 0; c < q->n_cells; c++) {
            if (is_spread) q->crowd[c] += counted_at(q, q->match, term, c);
            else q->lure[c] += counted_at(q, q->followers, term, c);
        }
    }
    for (int64_t i = 0; i < q->n_cells; i++) {
        int64_t cell = g->order[i];
        if (!q->allowed[cell]) continue;
        int64_t more = best < 0 ? 1 : q->lure[cell] - q->lure[best];
        if (more == 0) more = weight[cell] - weight[best];
        if (more == 0) more = q->crowd[best] - q->crowd[cell];
        if (more > 0) best = cell;
    }
    return best;
}

/* ------------------------------------------------------------------ group after group */

static int is_first(const Quotas *q, const Turned *g) {
    if (!q->may_lead[g->number]) return 0;
    for (int64_t i = 0; i < g->n_own; i++)
        if (q->kind[g->own[i]] == AFFINITY && !is_empty(q, g->own[i])) return 0;
    return 1;
}

static int lacks_company(const Quotas *q, int64_t number) {
    for (int64_t i = q->lack_from[number]; i < q->lack_from[number + 1]; i++)
        if (!q->is_there[q->lacks[i]]) return 1;
    return 0;
}

/* Whether pods that wait for the first of this group will follow it. */
static int leads(const Quotas *q, const Turned *g) {
    for (int64_t i = 0; i < g->n_match; i++)
        if (lures(q, g->match[i])) return 1;
    return 0;
}

static void settle_group(Quotas *q, Turned *g) {
    for (int64_t c = 0; c < q->n_cells; c++) q->launch[c] = q->is_open[g->number * q->n_cells + c];
    g->is_first = is_first(q, g);
    if (settle_lone(q, g)) return;
    for (int64_t i = 0; i < g->n_own; i++)
        if (q->kind[g->own[i]] != ANTI)
            for (int64_t c = 0; c < q->n_cells; c++) q->launch[c] &= domain_at(q, g->own[i], c) >= 0;
    int64_t left = pour_out(q, g) ? 0 : q->count[g->number];
    while (left > 0 && allow(q, g)) {
        int64_t cell = best_cell(q, g), step = least(left, q->most[cell]);
        if (q->has_weights && leads(q, g)) step = 1;  /* the others go to the heaviest pool */
        take_turn(q, g, cell, step);
        record(q, g, cell, step);
        left -= step;
    }
    if (q->n_turns[g->number]) foresee(q, g);
}

EXPORT void dovetail_settle(Quotas *q) {
    for (int64_t n = 0; n < q->n_groups; n++) {
        if (lacks_company(q, n)) continue;
        Turned g = {q->own_terms + q->own_from[n], q->match_terms + q->match_from[n],
                    q->order + n * q->n_cells, n, q->own_from[n + 1] - q->own_from[n],
                    q->match_from[n + 1] - q->match_from[n], 0};
        settle_group(q, &g);
        if (!q->n_turns[n]) continue;
        for (int64_t i = q->offer_from[n]; i < q->offer_from[n + 1]; i++) q->is_there[q->offered[i]] = 1;
    }
}
