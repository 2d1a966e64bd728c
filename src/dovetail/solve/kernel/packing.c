/* Who goes where on the nodes that were just opened? The compiled twin of _Filler in pack.py: each
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

SIZE_OF(Shares);

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
    const double *request, *inverse;  /* units x resources */
    const double *most, *worth;       /* by unit */
    const int64_t *start, *stop;      /* among which offers are all those that take each unit */
    const int32_t *takes;             /* units x offers: all bits where an offer takes a unit, or none */
    const double *cap;                /* resources x offers */
    double *free, *held;              /* scratch: the same, and one per offer */
} OfferScan;

SIZE_OF(OfferScan);

/* Put what fits of one unit on a node of every offer that takes it; adds to what the nodes hold. One
 * plain loop after another, without branches: the compiler does several offers in one step. */
static void try_unit(const OfferScan *l, int64_t unit, double *restrict value) {
    const int64_t start = l->start[unit], stop = l->stop[unit], n = l->n_resources;
    const double most = l->most[unit], worth = l->worth[unit];
    const int32_t *restrict takes = l->takes + unit * l->n_offers;
    double *restrict held = l->held;
    for (int64_t p = start; p < stop; p++) held[p] = most;
    for (int64_t r = 0; r < n; r++) {
        const double *restrict free = l->free + r * l->n_offers, inverse = l->inverse[unit * n + r];
        if (inverse == 0.0) continue;
        for (int64_t p = start; p < stop; p++) {
            double share = free[p] * inverse, count = share + 1e-9;
            held[p] = count < held[p] ? count : held[p];
        }
    }
    for (int64_t p = start; p < stop; p++) {
        int32_t whole = (int32_t)held[p] & takes[p];
        double gain = (held[p] = (double)whole) * worth;
        value[p] += gain;
    }
    for (int64_t r = 0; r < n; r++) {
        double *restrict free = l->free + r * l->n_offers, request = l->request[unit * n + r];
        if (request == 0.0) continue;
        for (int64_t p = start; p < stop; p++) {
            double taken = request * held[p];
            free[p] -= taken;
        }
    }
}

/* orders x offers: what an empty node of every offer would hold if filled in this order of units, by
 * value. What is not asked for has no inverse. */
EXPORT void dovetail_greedy_values(const OfferScan *l, int64_t n_orders, int64_t n_turns, const int64_t *orders,
                                   double *value) {
    for (int64_t o = 0; o < n_orders; o++, value += l->n_offers, orders += n_turns) {
        for (int64_t i = 0; i < l->n_offers * l->n_resources; i++) l->free[i] = l->cap[i];
        for (int64_t p = 0; p < l->n_offers; p++) value[p] = 0.0;
        for (int64_t turn = 0; turn < n_turns; turn++) try_unit(l, orders[turn], value);
    }
}
