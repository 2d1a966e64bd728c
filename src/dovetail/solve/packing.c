/* Who goes where on the nodes that were just opened? The compiled twin of _Filler in packing.py: each
 * unit's share of each offer's nodes, unit after unit, then the rest anywhere. Included by kernel.c.
 */

typedef struct {
    int64_t n_units, n_offers, how;
    const Unit *const *units;
    const int64_t *weight, *row;   /* of every unit; row: which class it is of */
    const double *share;           /* of its class */
    int64_t *left;
    const int64_t *rest;           /* the order in which what is left finds its place */
    const double *wish;            /* classes x offers */
    const int64_t *order;          /* classes x offers, those that are wished for most first */
    double *carry;                 /* classes x offers */
    const int64_t *start, *stop;   /* the nodes of each offer; the last are all nodes together */
    const double *part, *cpu, *memory;  /* how much of the wish was opened; what a node has */
    int64_t *who, *used;           /* answers: entries of the log */
    int64_t *nodes, *counts;
    int64_t n_entries, n_nodes;
} Shares;

static int64_t fill_span(const Bins *b, Shares *s, int64_t unit, int64_t want, int64_t offer, int64_t how) {
    int64_t *counts = s->counts + s->n_nodes, got = 0;
    int64_t used = dovetail_fill(b, s->units[unit], s->weight[unit], want, s->start[offer], s->stop[offer], how,
                                 s->cpu[offer], s->memory[offer], s->nodes + s->n_nodes, counts);
    if (!used) return 0;
    for (int64_t i = 0; i < used; i++) got += counts[i];
    s->who[s->n_entries] = unit;
    s->used[s->n_entries++] = used;
    s->n_nodes += used;
    s->left[unit] -= got;
    return got;
}

static void share_out(const Bins *b, Shares *s, int64_t unit) {
    const int64_t at = s->row[unit] * s->n_offers;
    for (int64_t i = 0; i < s->n_offers; i++) {
        int64_t offer = s->order[at + i];
        double wish = s->wish[at + offer];
        if (wish <= 1e-6 || s->left[unit] <= 0) break;
        if (s->start[offer] == s->stop[offer]) continue;
        double mine = wish * s->share[unit], opened = mine * s->part[offer];
        double due = opened + s->carry[at + offer];
        int64_t want = least((int64_t)(due + 0.5), s->left[unit]);
        int64_t got = want > 0 ? fill_span(b, s, unit, want, offer, s->how) : 0;
        s->carry[at + offer] = got == want ? due - (double)got : 0.0;
    }
}

EXPORT void dovetail_share_out(const Bins *b, Shares *s) {
    for (int64_t unit = 0; unit < s->n_units; unit++) share_out(b, s, unit);
    for (int64_t i = 0; i < s->n_units; i++) {
        int64_t unit = s->rest[i];
        if (s->left[unit] > 0) fill_span(b, s, unit, s->left[unit], s->n_offers, WATER);
    }
}

/* ------------------------------------------------------------------ the tail */

typedef struct {
    int64_t n_offers, n_resources;
    const double *request, *inverse, *padding;  /* units x resources */
    const double *most, *worth;                 /* by unit */
    const int64_t *from, *taker;                /* the offers that take each unit, end to end */
    const double *cap;                          /* offers x resources */
    double *free;                               /* scratch, the same */
} Looks;

/* Put what fits of one unit on a node of every offer that takes it; adds to what the nodes hold. */
static inline __attribute__((always_inline)) void try_unit(const Looks *l, int64_t unit, double *restrict value,
                                                           const int64_t n) {
    const int64_t *taker = l->taker + l->from[unit], *end = l->taker + l->from[unit + 1];
    const double *restrict inverse = l->inverse + unit * n, *restrict padding = l->padding + unit * n;
    const double *restrict request = l->request + unit * n;
    const double most = l->most[unit], worth = l->worth[unit];
    for (; taker < end; taker++) {
        double *restrict free = l->free + *taker * n, held = most;
        for (int64_t r = 0; r < n; r++) {
            double share = free[r] * inverse[r], count = share + padding[r];
            held = count < held ? count : held;
        }
        if (held < 1.0) continue;
        held = (double)(int64_t)held;
        double gain = held * worth;
        value[*taker] += gain;
        for (int64_t r = 0; r < n; r++) {
            double taken = request[r] * held;
            free[r] -= taken;
        }
    }
}

/* orders x offers: what an empty node of every offer would hold if filled in this order of units, by
 * value. Resources that a unit does not ask for have no share of it, and much padding. */
EXPORT void dovetail_greedy_values(const Looks *l, int64_t n_orders, int64_t n_turns, const int64_t *orders,
                                   double *value) {
    for (int64_t o = 0; o < n_orders; o++, value += l->n_offers, orders += n_turns) {
        for (int64_t i = 0; i < l->n_offers * l->n_resources; i++) l->free[i] = l->cap[i];
        for (int64_t p = 0; p < l->n_offers; p++) value[p] = 0.0;
        if (l->n_resources == 3)
            for (int64_t turn = 0; turn < n_turns; turn++) try_unit(l, orders[turn], value, 3);
        else
            for (int64_t turn = 0; turn < n_turns; turn++) try_unit(l, orders[turn], value, l->n_resources);
    }
}
