/* The solver's inner loops, compiled. Each has a plain twin in NumPy that gives the same answer to
 * the last bit, so: integers where the twin has integers, the same floating-point operations in the
 * same order, ties to the lower index, and no contraction of a * b + c into one rounding.
 *
 * Nothing here allocates or keeps anything: callers own all memory. The structures have the same
 * fields in `structures.py`, which compares their sizes when the library is loaded.
 */

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Which sources this was compiled from: `loading.py` leaves a library of others aside. */
EXPORT const char *const dovetail_source = SOURCE;

/* How large a structure is here: `loading.py` leaves a library with other sizes aside. */
#define SIZE_OF(structure) EXPORT const int64_t dovetail_sizeof_##structure = sizeof(structure)

enum { SPREAD = 0, AFFINITY = 1, ANTI = 2, PORT = 3 };
enum { WATER = 0, SNUG = 1 };

static const double BETA = 10.0;  /* as in filling.py */

static const int64_t UNLIMITED = (int64_t)1 << 60;

/* ------------------------------------------------------------------ nodes and units */

typedef struct {
    int64_t stride, n_resources;
    int64_t *free;    /* resources x nodes */
    int64_t *cell, *weight;
    uint8_t *accept;  /* masks x nodes */
    int32_t *match, *own;  /* host terms x nodes */
    int64_t *floor;   /* per host term */
    int64_t *room, *heap;  /* scratch, one per node */
    double *key;      /* scratch, one per node */
} Bins;

SIZE_OF(Bins);

typedef struct {
    int64_t term, kind, skew, both;
} Tie;

typedef struct {
    int64_t mask, cell, n_own, n_match;
    int64_t rest[];  /* requests, then ties of its own, then ties that are about it */
} Unit;

static const Tie *ties_of(const Bins *b, const Unit *u) { return (const Tie *)(u->rest + b->n_resources); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t ask_own(const Bins *b, const Tie *tie, int64_t node, int64_t room) {
    int64_t match = b->match[tie->term * b->stride + node];
    if (tie->kind == SPREAD) {
        int64_t most = tie->skew + b->floor[tie->term];
        if (tie->both) return least(room, most - match);
        return match > most ? 0 : room;
    }
    if (tie->kind == AFFINITY) return match == 0 ? 0 : room;
    if (match > 0) return 0;
    return tie->both ? least(room, 1) : room;
}

static int64_t ask_others(const Bins *b, const Tie *tie, int64_t node, int64_t room) {
    if (b->own[tie->term * b->stride + node] <= 0) return room;
    if (tie->kind == ANTI || tie->kind == PORT) return 0;
    if (tie->kind == SPREAD && !tie->both)
        return least(room, tie->skew + b->floor[tie->term] - b->match[tie->term * b->stride + node]);
    return room;
}

static int64_t room_at(const Bins *b, const Unit *u, int64_t weight, int64_t node) {
    if (!b->accept[u->mask * b->stride + node]) return 0;
    if (u->cell != -1 && b->cell[node] != u->cell) return 0;
    if (weight != -1 && b->weight[node] != weight && b->weight[node] != -1) return 0;
    int64_t room = UNLIMITED;
    for (int64_t r = 0; r < b->n_resources; r++) {
        int64_t asked = u->rest[r];
        if (asked <= 0) continue;
        int64_t free = b->free[r * b->stride + node];
        if (free < asked) return 0;
        if (asked == 1) room = least(room, free);
        else if (free / asked < room) room = free / asked;
    }
    const Tie *tie = ties_of(b, u);
    for (int64_t t = 0; t < u->n_own; t++, tie++) room = ask_own(b, tie, node, room);
    for (int64_t t = 0; t < u->n_match; t++, tie++) room = ask_others(b, tie, node, room);
    return room > 0 ? room : 0;
}

static void shift(const Bins *b, const Unit *u, int64_t node, int64_t count) {
    for (int64_t r = 0; r < b->n_resources; r++) b->free[r * b->stride + node] -= u->rest[r] * count;
    const Tie *tie = ties_of(b, u);
    for (int64_t t = 0; t < u->n_own; t++, tie++) b->own[tie->term * b->stride + node] += (int32_t)count;
    for (int64_t t = 0; t < u->n_match; t++, tie++) b->match[tie->term * b->stride + node] += (int32_t)count;
}

EXPORT void dovetail_room(const Bins *b, const Unit *u, int64_t weight, int64_t start, int64_t stop, int64_t *out) {
    for (int64_t node = start; node < stop; node++) out[node - start] = room_at(b, u, weight, node);
}

/* ------------------------------------------------------------------ filling */

/* A heap of places: the one with the highest key on top, ties to the lower place. */
static int above(const double *key, int64_t a, int64_t b) { return key[a] > key[b] || (key[a] == key[b] && a < b); }

static void sink(int64_t *heap, int64_t size, int64_t at, const double *key) {
    int64_t moving = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && above(key, heap[child + 1], heap[child])) child++;
        if (!above(key, heap[child], moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void heapify(int64_t *heap, int64_t size, const double *key) {
    for (int64_t at = size / 2 - 1; at >= 0; at--) sink(heap, size, at, key);
}

/* Pods one at a time to the highest key; what is taken of each place is in `counts`. */
static void pour(const Bins *b, const Unit *u, int64_t want, const int64_t *room, int64_t n, const int64_t *nodes,
                 double mean0, double mean1, int64_t *counts) {
    double cpu = (double)u->rest[0] / mean0, memory = (double)u->rest[1] / mean1;
    double middle = (cpu + memory) / 2;
    double weight0 = (middle + BETA * (cpu - middle)) / mean0, weight1 = (middle + BETA * (memory - middle)) / mean1;
    double step = weight0 * (double)u->rest[0] + weight1 * (double)u->rest[1];
    double *height = b->key + n, *key = b->key;
    for (int64_t i = 0; i < n; i++) {
        double one = weight0 * (double)b->free[nodes[i]];
        double other = weight1 * (double)b->free[b->stride + nodes[i]];
        height[i] = key[i] = one + other;
        counts[i] = 0;
        b->heap[i] = i;
    }
    int64_t size = n;
    heapify(b->heap, size, key);
    while (want-- > 0) {
        int64_t top = b->heap[0];
        counts[top]++;
        if (counts[top] >= room[top]) b->heap[0] = b->heap[--size];
        else {
            double fallen = (double)counts[top] * step;
            key[top] = height[top] - fallen;
        }
        if (size > 1) sink(b->heap, size, 0, key);
    }
}

/* Pods to the places where the least would remain, each filled up before the next. */
static void press(const Bins *b, const Unit *u, int64_t want, const int64_t *room, int64_t n, const int64_t *nodes,
                  double mean0, double mean1, int64_t *counts) {
    for (int64_t i = 0; i < n; i++) {
        double left = (double)(b->free[nodes[i]] - u->rest[0]) / mean0;
        double rest = (double)(b->free[b->stride + nodes[i]] - u->rest[1]) / mean1;
        double one = left * left, other = rest * rest;
        b->key[i] = -(one + other);
        counts[i] = 0;
        b->heap[i] = i;
    }
    int64_t size = n;
    heapify(b->heap, size, b->key);
    while (want > 0 && size > 0) {
        int64_t top = b->heap[0];
        counts[top] = least(want, room[top]);
        want -= counts[top];
        b->heap[0] = b->heap[--size];
        if (size > 1) sink(b->heap, size, 0, b->key);
    }
}

/* Place up to `want` pods; says on how many nodes, and which (ascending), and how many on each. */
EXPORT int64_t dovetail_fill(const Bins *b, const Unit *u, int64_t weight, int64_t want, int64_t start, int64_t stop,
                             int64_t how, double mean0, double mean1, int64_t *nodes, int64_t *counts) {
    int64_t n = 0, total = 0;
    for (int64_t node = start; node < stop; node++) {
        int64_t room = room_at(b, u, weight, node);
        if (room <= 0) continue;
        nodes[n] = node;
        b->room[n] = least(room, want);
        total += b->room[n];
        n++;
    }
    if (total <= want)
        for (int64_t i = 0; i < n; i++) counts[i] = b->room[i];
    else if (how == WATER) pour(b, u, want, b->room, n, nodes, mean0, mean1, counts);
    else press(b, u, want, b->room, n, nodes, mean0, mean1, counts);
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] == 0) continue;
        shift(b, u, nodes[i], counts[i]);
        nodes[used] = nodes[i];
        counts[used++] = counts[i];
    }
    return used;
}

/* Fill one node with these units in order, each as far as it goes; `left` counts down. */
EXPORT void dovetail_fill_one(const Bins *b, int64_t n, const Unit *const *units, const int64_t *weights, int64_t *left,
                              int64_t node, int64_t *taken) {
    for (int64_t i = 0; i < n; i++) {
        taken[i] = least(room_at(b, units[i], weights[i], node), left[i]);
        if (taken[i] <= 0) continue;
        shift(b, units[i], node, taken[i]);
        left[i] -= taken[i];
    }
}

/* ------------------------------------------------------------------ right-sizing */

typedef struct {
    int64_t n_nodes, n_offers, n_resources;
    const int64_t *row;     /* of every node: a row of `accept` */
    const int64_t *used;    /* nodes x resources */
    const uint8_t *accept;  /* rows x offers */
    const int64_t *cap;     /* offers x resources, cheapest first */
    int64_t *first;         /* answer: of every node */
} FirstFit;

SIZE_OF(FirstFit);

/* For every node the first offer (they come cheapest first) that its row accepts and that has what
 * is used; -1 if none has. */
EXPORT void dovetail_first_fit(const FirstFit *f) {
    const int64_t n_offers = f->n_offers, n_resources = f->n_resources, *cap = f->cap;
    int64_t *first = f->first;
    for (int64_t node = 0; node < f->n_nodes; node++) {
        const uint8_t *takes = f->accept + f->row[node] * n_offers;
        const int64_t *need = f->used + node * n_resources;
        first[node] = -1;
        for (int64_t p = 0; p < n_offers && first[node] < 0; p++) {
            if (!takes[p]) continue;
            int64_t r = 0;
            while (r < n_resources && cap[p * n_resources + r] >= need[r]) r++;
            if (r == n_resources) first[node] = p;
        }
    }
}

/* ------------------------------------------------------------------ fallbacks */

typedef struct {
    int64_t n_offers, n_types, n_ways, n_sizes, n_resources;
    int64_t *size, *row, *way;      /* of every offer, cheapest first */
    uint8_t *is_left;
    int64_t *sizes;                 /* sizes x resources */
    int64_t *kind_w, *zone_w;       /* capacity type and zone of every way to buy, by number */
    uint8_t *fits_x, *fine_t, *named_t, *near_w, *fits_o;  /* scratch */
} PoolOffers;

SIZE_OF(PoolOffers);

/* The offers that may be named beside `own` for a node that uses so much: all that is sold under
 * their names must do, and no more than `most` types are named, the cheapest ones. Answers how many
 * offers that are and writes their places; -1 where some type is right in one way and wrong in
 * another, so that names must be chosen with care. */
EXPORT int64_t dovetail_fallbacks(const PoolOffers *s, const uint8_t *fine_o, const uint8_t *may_w, const int64_t *used,
                                  int64_t own, int64_t most, int64_t *places) {
    for (int64_t x = 0; x < s->n_sizes; x++) {
        int64_t r = 0;
        const int64_t *size = s->sizes + x * s->n_resources;
        while (r < s->n_resources && (size[r] >= used[r] || used[r] == 0)) r++;
        s->fits_x[x] = r == s->n_resources;
    }
    /* near_w: bit 1 = sold, bit 2 = its capacity type and its zone are each sold somehow */
    for (int64_t w = 0; w < s->n_ways; w++) s->near_w[w] = 0;
    for (int64_t t = 0; t < s->n_types; t++) s->fine_t[t] = s->named_t[t] = 0;
    for (int64_t o = 0; o < s->n_offers; o++) {
        uint8_t fits = fine_o[o] & s->fits_x[s->size[o]];
        s->fits_o[o] = fits;
        if (!(fits & s->is_left[o])) continue;
        s->near_w[s->way[o]] |= may_w[s->way[o]];
        s->fine_t[s->row[o]] = 1;
    }
    for (int64_t w = 0; w < s->n_ways; w++) {
        int kind = 0, zone = 0;
        for (int64_t v = 0; v < s->n_ways; v++) {
            if (!(s->near_w[v] & 1)) continue;
            kind |= s->kind_w[v] == s->kind_w[w];
            zone |= s->zone_w[v] == s->zone_w[w];
        }
        if (!kind || !zone) continue;
        if (!may_w[w]) return -1;
        s->near_w[w] |= 2;
    }
    for (int64_t o = 0; o < s->n_offers; o++) {
        if (!s->fits_o[o] && (s->near_w[s->way[o]] & 2) && s->fine_t[s->row[o]]) return -1;
    }
    int64_t n = 0, types = 1;
    s->named_t[s->row[own]] = 1;
    for (int64_t o = 0; o < s->n_offers; o++) {
        if (!(s->fits_o[o] & s->is_left[o]) || !(s->near_w[s->way[o]] & 2) || o == own) continue;
        uint8_t *is_named = s->named_t + s->row[o];
        if (!*is_named && types == most) continue;
        types += !*is_named;
        *is_named = 1;
        places[n++] = o;
    }
    return n;
}

/* ------------------------------------------------------------------ dominance */

typedef struct {
    int64_t n_offers, n_resources, n_words;
    const int64_t *place;   /* of every offer */
    const int64_t *cap;     /* offers x resources */
    const uint64_t *bits;   /* offers x words: the pods that each takes */
    const uint8_t *scarce;  /* of every offer */
    int64_t *winner;        /* answer: of every offer */
    int64_t *kept;          /* scratch: one per offer */
} Skyline;

SIZE_OF(Skyline);

/* Offers in order of place and price. One is beaten by an earlier one of its place that is not
 * scarce, has at least its capacity and takes at least its pods; `winner` says by which, or itself. */
EXPORT void dovetail_skyline(const Skyline *s) {
    const int64_t n_resources = s->n_resources, n_words = s->n_words, *place = s->place, *cap = s->cap;
    const uint64_t *bits = s->bits;
    const uint8_t *scarce = s->scarce;
    int64_t *winner = s->winner, *kept = s->kept, n_kept = 0;
    for (int64_t i = 0; i < s->n_offers; i++) {
        if (i == 0 || place[i] != place[i - 1]) n_kept = 0;
        winner[i] = i;
        for (int64_t k = 0; k < n_kept; k++) {
            int64_t j = kept[k], r = 0, w = 0;
            while (r < n_resources && cap[i * n_resources + r] <= cap[j * n_resources + r]) r++;
            if (r < n_resources) continue;
            while (w < n_words && !(bits[i * n_words + w] & ~bits[j * n_words + w])) w++;
            if (w < n_words) continue;
            winner[i] = j;
            break;
        }
        if (winner[i] == i && !scarce[i]) kept[n_kept++] = i;
    }
}

/* ------------------------------------------------------------------ multipliers */

/* What a pod weighs on nodes of which it asks for such a share, by a dual feasible function: see cuts.py. */
static void weigh(int64_t n, double request, const double *cap, int64_t k, double *weight) {
    for (int64_t p = 0; p < n; p++) {
        double share = request / cap[p], scaled = (double)(k + 1) * share;
        double below = (double)(int64_t)(scaled * (1 - 1e-12)), near = (double)(int64_t)(scaled + 0.5);
        double apart = scaled - near;
        weight[p] = apart < 1e-9 && apart > -1e-9 ? share : below / (double)k;
    }
}

typedef struct {
    int64_t n_vectors, n_classes, n_offers, n_kinds;
    const double *worth;    /* multipliers x classes: what a pod is worth */
    const double *nu;       /* multipliers x kinds: what each kind of cut adds */
    const double *scale;    /* multipliers x offers */
    const int64_t *k_w;     /* of every kind of cut */
    const double *request;  /* kinds x classes: of the resource that a kind is about */
    const double *cap;      /* kinds x offers */
    const double *pi;       /* classes x offers: what the program says pods are worth */
    const double *demand;   /* classes x offers: how many pods */
    double *weight;         /* scratch: kinds x offers */
    double *whole;          /* scratch: one per offer */
    double *loss;           /* scratch: multipliers x offers, zeros at first */
    double *best;           /* answer: what is lost at every offer, infinite at first */
    int64_t *choice;        /* answer: the multiplier of every offer */
} LeastLoss;

SIZE_OF(LeastLoss);

/* For every offer the multiplier that undercuts the program's pod values least, and by how much. */
EXPORT void dovetail_least_loss(const LeastLoss *given) {
    const int64_t n_vectors = given->n_vectors, n_classes = given->n_classes, n_offers = given->n_offers;
    const int64_t n_kinds = given->n_kinds, *k_w = given->k_w;
    const double *worth = given->worth, *nu = given->nu, *scale = given->scale;
    const double *request = given->request, *cap = given->cap;
    const double *pi = given->pi, *demand = given->demand;
    double *weight = given->weight, *whole = given->whole, *loss = given->loss, *best = given->best;
    int64_t *choice = given->choice;
    for (int64_t l = 0; l < n_classes; l++) {
        const double *target = pi + l * n_offers, *count = demand + l * n_offers;
        for (int64_t w = 0; w < n_kinds; w++)
            weigh(n_offers, request[w * n_classes + l], cap + w * n_offers, k_w[w], weight + w * n_offers);
        for (int64_t k = 0; k < n_vectors; k++) {
            const double *s = scale + k * n_offers;
            double *lost_so_far = loss + k * n_offers;
            for (int64_t p = 0; p < n_offers; p++) whole[p] = worth[k * n_classes + l];
            for (int64_t w = 0; w < n_kinds; w++) {
                double amount = nu[k * n_kinds + w];
                if (amount == 0.0) continue;
                const double *each = weight + w * n_offers;
                for (int64_t p = 0; p < n_offers; p++) {
                    double more = each[p] * amount;
                    whole[p] += more;
                }
            }
            for (int64_t p = 0; p < n_offers; p++) {
                double there = whole[p] * s[p], gap = target[p] - there;
                double lost = (gap > 0.0 ? gap : 0.0) * count[p];
                lost_so_far[p] += lost;
            }
        }
    }
    for (int64_t k = 0; k < n_vectors; k++) {
        for (int64_t p = 0; p < n_offers; p++) {
            if (!(loss[k * n_offers + p] < best[p] - 1e-9)) continue;
            best[p] = loss[k * n_offers + p];
            choice[p] = k;
        }
    }
}

/* ------------------------------------------------------------------ whole passes */

#include "quotas.c"
#include "packing.c"
#include "knapsack.c"
#include "recreate.c"
