/* Which pods fill a node best? Exact knapsacks for column generation; the plain twin is
 * patterns/knapsack.py. All numbers are integers, so both give the same answers.
 *
 * A table is exact in one resource, on a grid, and prices the others by multipliers. Row i holds for
 * every amount of the exact resource the most that items i, i+1, ... are worth. Requests are rounded
 * down to the grid, so a table is never too low: it is an upper bound, and the search below follows it.
 */

typedef __int128 wide;
typedef wide packed __attribute__((aligned(8)));  /* as it lies in scratch */

enum { SHIFT = 24 };  /* multipliers are fractions of 2^24 */

/* Where the machine can compare four numbers at once, let it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* dst[c] = max(src[c], src[c - weight] + value). */
WIDE static void add_once(const int64_t *restrict src, int64_t *restrict dst, int64_t size, int64_t weight,
                          int64_t value) {
    for (int64_t c = 0; c < weight; c++) dst[c] = src[c];
    const int64_t *restrict below = src - weight;
    for (int64_t c = weight; c < size; c++) {
        int64_t with = below[c] + value, without = src[c];
        dst[c] = with > without ? with : without;
    }
}

/* dst[c] = max over a <= most of src[c - a * weight] + a * value; `spare` are two rows of scratch. */
static void add_item(const int64_t *src, int64_t *dst, int64_t *spare, int64_t size, int64_t weight, int64_t value,
                     int64_t most) {
    if (weight > 0 && most > (size - 1) / weight) most = (size - 1) / weight;
    if (value <= 0 || most <= 0) {
        for (int64_t c = 0; c < size; c++) dst[c] = src[c];
        return;
    }
    if (weight == 0) {
        for (int64_t c = 0; c < size; c++) dst[c] = src[c] + most * value;
        return;
    }
    int64_t turn = 0;
    for (int64_t step = 1; most > 0; step *= 2) {
        int64_t count = least(step, most);
        most -= count;
        int64_t *to = most > 0 ? spare + (turn++ % 2) * size : dst;
        add_once(src, to, size, count * weight, count * value);
        src = to;
    }
}

typedef struct {
    int64_t n_items, n_resources, n_tables;
    const int64_t *request;   /* items x resources */
    const int64_t *value, *most;  /* per item */
    const uint8_t *apart;     /* items x items: which never share a node */
    const int64_t *exact, *unit, *size;  /* per table */
    const int64_t *price;     /* tables x resources: multipliers, 0 for the exact one */
    const int64_t *start;     /* per table: where its rows begin in `rows` */
    packed *paid;             /* scratch: tables, what is free at the prices of each; then items x tables, what */
                              /* an item asks for at these prices */
    int64_t *rows;            /* of all tables, each (items + 1) x size */
    int64_t *spare;           /* scratch: two rows of the largest table */
    int64_t *cell, *alike;    /* scratch: tables, the cell of what is free, and the first table with the same cells */
    int64_t *free;            /* scratch: resources */
    int64_t *barred;          /* scratch: items */
    int64_t *count, *best_count;  /* scratch and answer: items */
    int64_t *order;           /* scratch: items x (1 + the most that any item counts) bounds */
    int64_t width;            /* of `order` */
    int64_t best, left;
} Knapsack;

SIZE_OF(Knapsack);

/* The most that an item and the following ones can be worth in what is free; or, if that is no more than
 * `enough`, some number that is no more either. */
static int64_t at_most(const Knapsack *s, int64_t item, int64_t enough) {
    wide lowest = -1;
    for (int64_t k = 0; k < s->n_tables; k++) {
        if (s->alike[k] == k) s->cell[k] = least(s->free[s->exact[k]] / s->unit[k], s->size[k] - 1);
        wide bound = s->rows[s->start[k] + item * s->size[k] + s->cell[s->alike[k]]] + (s->paid[k] >> SHIFT);
        if (lowest < 0 || bound < lowest) lowest = bound;
        if (lowest <= enough) break;
    }
    return (int64_t)lowest;
}

static void take(Knapsack *s, int64_t item, int64_t count) {
    const int64_t *asked = s->request + item * s->n_resources;
    const packed *each = s->paid + (item + 1) * s->n_tables;
    for (int64_t r = 0; r < s->n_resources; r++) s->free[r] -= count * asked[r];
    for (int64_t k = 0; k < s->n_tables; k++) s->paid[k] -= count * each[k];
}

static void visit(Knapsack *s, int64_t item, int64_t value) {
    if (value > s->best) {
        s->best = value;
        for (int64_t i = 0; i < s->n_items; i++) s->best_count[i] = s->count[i];
    }
    if (item == s->n_items || s->left <= 0) return;
    s->left--;
    const int64_t *asked = s->request + item * s->n_resources;
    int64_t most = s->barred[item] ? 0 : s->most[item];
    for (int64_t r = 0; r < s->n_resources && most; r++)
        if (asked[r] > 0) most = least(most, s->free[r] / asked[r]);
    int64_t *bound = s->order + item * s->width;
    for (int64_t a = 0; a <= most; a++) {
        int64_t with = value + a * s->value[item];
        bound[a] = with + at_most(s, item + 1, s->best - with);
        take(s, item, 1);
    }
    take(s, item, -(most + 1));
    const uint8_t *apart = s->apart + item * s->n_items;
    while (s->left > 0) {
        int64_t chosen = most;
        for (int64_t a = most - 1; a >= 0; a--)
            if (bound[a] > bound[chosen]) chosen = a;
        if (bound[chosen] <= s->best) return;
        bound[chosen] = -1;
        take(s, item, chosen);
        s->count[item] = chosen;
        if (chosen) for (int64_t i = item + 1; i < s->n_items; i++) s->barred[i] += apart[i];
        visit(s, item + 1, value + chosen * s->value[item]);
        if (chosen) for (int64_t i = item + 1; i < s->n_items; i++) s->barred[i] -= apart[i];
        s->count[item] = 0;
        take(s, item, -chosen);
    }
}

/* Fills one table from its last row up. */
static void fill_table(const Knapsack *s, int64_t k) {
    int64_t size = s->size[k], *table = s->rows + s->start[k];
    for (int64_t c = 0; c < size; c++) table[s->n_items * size + c] = 0;
    for (int64_t i = s->n_items - 1; i >= 0; i--) {
        const int64_t *asked = s->request + i * s->n_resources, *price = s->price + k * s->n_resources;
        wide net = s->value[i];
        for (int64_t r = 0; r < s->n_resources; r++)
            if (price[r]) net -= (wide)price[r] * asked[r] >> SHIFT;
        add_item(table + (i + 1) * size, table + i * size, s->spare, size, asked[s->exact[k]] / s->unit[k],
                 net > 0 ? (int64_t)net : 0, s->most[i]);
    }
}

/* What amounts of all resources cost at the prices of a table, in fractions of 2^24. */
static wide at_prices(const Knapsack *s, int64_t k, const int64_t *amount) {
    const int64_t *price = s->price + k * s->n_resources;
    wide sum = 0;
    for (int64_t r = 0; r < s->n_resources; r++)
        if (price[r]) sum += (wide)price[r] * amount[r];
    return sum;
}

static void prepare(Knapsack *s) {
    for (int64_t k = 0; k < s->n_tables; k++) {
        fill_table(s, k);
        s->alike[k] = 0;
        while (s->exact[s->alike[k]] != s->exact[k] || s->unit[s->alike[k]] != s->unit[k] ||
               s->size[s->alike[k]] != s->size[k])
            s->alike[k]++;
        for (int64_t i = 0; i < s->n_items; i++)
            s->paid[(i + 1) * s->n_tables + k] = at_prices(s, k, s->request + i * s->n_resources);
    }
}

/* For every offer the pods that are worth most together, if they are worth more than `floor`: their
 * worth (or the floor), how many of each, and the most that any pods there could be worth. */
EXPORT void dovetail_fill_best(Knapsack *s, int64_t n_offers, const int64_t *cap, const int64_t *floor,
                               int64_t budget, int64_t *worth, int64_t *counts, int64_t *bound) {
    prepare(s);
    for (int64_t o = 0; o < n_offers; o++) {
        for (int64_t r = 0; r < s->n_resources; r++) s->free[r] = cap[o * s->n_resources + r];
        for (int64_t i = 0; i < s->n_items; i++) s->barred[i] = s->count[i] = s->best_count[i] = 0;
        for (int64_t k = 0; k < s->n_tables; k++) s->paid[k] = at_prices(s, k, s->free);
        int64_t most = at_most(s, 0, -1);
        s->best = floor[o];
        s->left = budget;
        if (most > floor[o]) visit(s, 0, 0);
        worth[o] = s->best;
        bound[o] = s->left > 0 ? least(most, s->best) : most;
        for (int64_t i = 0; i < s->n_items; i++) counts[o * s->n_items + i] = s->best_count[i];
    }
}
