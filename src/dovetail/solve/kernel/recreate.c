/* Could the same pods run on cheaper nodes? Ruin and recreate; the plain twin is patterns/recreate.py.
 *
 * Nodes have no offer of their own: each costs what the cheapest offer costs that holds its pods. Some
 * nodes are taken apart, their pods put back one by one where each costs least, and the result is kept
 * if it is no dearer than allowed. What is tried is drawn from a counter, so every run is the same.
 */

typedef struct {
    int64_t n_sorts, n_resources, n_offers, n_words, n_limits, room;  /* room: nodes at most */
    const int64_t *request;   /* sorts x resources */
    const uint64_t *accept;   /* sorts x words: the offers that take a sort, by price */
    const uint64_t *together; /* sorts x words of sorts: those that may share a node with it */
    const int64_t *cap;       /* offers x resources */
    const int64_t *price;     /* offers, ascending */
    const int64_t *use;       /* limits x offers */
    const int64_t *left;      /* limits */
    const int64_t *by_cpu, *by_memory;  /* sorts: the place of each in these orders */
    int64_t *node;            /* 3 times room x stride numbers: the best nodes, the current ones, saved ones */
    int64_t *saved;           /* scratch: room, which positions are saved, then room, since which turn */
    int64_t *pods;            /* scratch: the sorts of pods that look for a place */
    int64_t *key;             /* scratch: as long */
    int64_t *kept;            /* what nodes of the best states held: `most_kept` x sorts */
    int64_t most_kept, n_kept;
    int64_t n_saved, turn, n_before;  /* what this try has changed, and how many nodes there were */
    uint64_t chance;
    int64_t looks;            /* how many may still be taken */
} Rebuild;

SIZE_OF(Rebuild);

enum { SLACK = 32 };  /* as in patterns/recreate.py */

/* A node: its offer (-1: none), how many of each sort, what is used, the offers that take all. */
static int64_t stride_of(const Rebuild *n) {
    return 1 + n->n_sorts + n->n_resources + n->n_words + (n->n_sorts + 63) / 64;
}

static int64_t drawn(Rebuild *n, int64_t stop) {
    n->chance = n->chance * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t)((n->chance >> 33) % (uint64_t)stop);
}

static void clear_node(const Rebuild *n, int64_t *node) {
    int64_t held = 1 + n->n_sorts + n->n_resources;
    node[0] = 0;
    for (int64_t i = 1; i < held; i++) node[i] = 0;
    for (int64_t i = held; i < stride_of(n); i++) node[i] = -1;
}

/* The cheapest offer for a node with one more pod, or -1. */
static int64_t with_one_more(const Rebuild *n, const int64_t *node, int64_t sort) {
    const int64_t *used = node + 1 + n->n_sorts, *asked = n->request + sort * n->n_resources;
    const uint64_t *takes = (const uint64_t *)(used + n->n_resources), *accept = n->accept + sort * n->n_words;
    const uint64_t *welcome = takes + n->n_words;
    if (!(welcome[sort / 64] >> (sort % 64) & 1)) return -1;
    for (int64_t word = node[0] / 64; word < n->n_words; word++) {
        uint64_t both = takes[word] & accept[word];
        if (word == node[0] / 64) both &= ~(uint64_t)0 << (node[0] % 64);
        while (both) {
            int64_t offer = word * 64 + __builtin_ctzll(both), r = 0;
            const int64_t *cap = n->cap + offer * n->n_resources;
            while (r < n->n_resources && (used[r] + asked[r] <= cap[r] || !asked[r])) r++;
            if (r == n->n_resources) return offer;
            both &= both - 1;
        }
    }
    return -1;
}

static void put_pod(const Rebuild *n, int64_t *node, int64_t sort, int64_t offer) {
    int64_t *used = node + 1 + n->n_sorts;
    uint64_t *takes = (uint64_t *)(used + n->n_resources), *welcome = takes + n->n_words;
    const int64_t *asked = n->request + sort * n->n_resources;
    node[0] = offer;
    node[1 + sort]++;
    for (int64_t r = 0; r < n->n_resources; r++) used[r] += asked[r];
    for (int64_t w = 0; w < n->n_words; w++) takes[w] &= n->accept[sort * n->n_words + w];
    int64_t words = (n->n_sorts + 63) / 64;
    for (int64_t w = 0; w < words; w++) welcome[w] &= n->together[sort * words + w];
}

/* Before a node changes for the first time in a try, it is saved. */
static void save_node(Rebuild *n, int64_t place) {
    int64_t stride = stride_of(n), *since = n->saved + n->room;
    if (place >= n->n_before || since[place] == n->turn) return;
    since[place] = n->turn;
    const int64_t *from = n->node + (n->room + place) * stride;
    int64_t *to = n->node + (2 * n->room + n->n_saved) * stride;
    for (int64_t i = 0; i < stride; i++) to[i] = from[i];
    n->saved[n->n_saved++] = place;
}

static void undo_try(Rebuild *n) {
    int64_t stride = stride_of(n);
    for (int64_t k = 0; k < n->n_saved; k++) {
        int64_t *to = n->node + (n->room + n->saved[k]) * stride;
        const int64_t *from = n->node + (2 * n->room + k) * stride;
        for (int64_t i = 0; i < stride; i++) to[i] = from[i];
    }
}

/* Puts a pod where it costs least; says how many nodes there are then, or -1 if it fits nowhere. */
static int64_t insert_pod(Rebuild *n, int64_t *nodes, int64_t count, int64_t sort, int64_t overlooked) {
    int64_t stride = stride_of(n), where = -1, *last = nodes + count * stride;
    if (count == n->room) return -1;
    save_node(n, count);
    clear_node(n, last);
    int64_t chosen = with_one_more(n, last, sort);
    if (chosen < 0) return -1;
    int64_t lowest = n->price[chosen];
    n->looks -= count + 1;
    for (int64_t place = 0; place < count; place++) {
        int64_t *node = nodes + place * stride;
        int64_t offer = with_one_more(n, node, sort);
        if (offer < 0) continue;
        int64_t dearer = n->price[offer] - n->price[node[0]];
        if (dearer > lowest || (dearer == lowest && where >= 0) || place == overlooked) continue;
        lowest = dearer;
        where = place;
        chosen = offer;
        if (!lowest) break;
    }
    if (where >= 0) save_node(n, where);
    put_pod(n, where < 0 ? last : nodes + where * stride, sort, chosen);
    return where < 0 ? count + 1 : count;
}

static void sort_pods(Rebuild *n, int64_t n_pods, int64_t turn) {
    int64_t *pods = n->pods, *key = n->key;
    for (int64_t i = 0; i < n_pods; i++)
        key[i] = turn % 4 == 0 ? n->by_cpu[pods[i]] : turn % 4 == 1 ? n->by_memory[pods[i]] : drawn(n, (int64_t)1 << 30);
    for (int64_t i = 1; i < n_pods; i++) {
        int64_t pod = pods[i], mine = key[i], j = i - 1;
        for (; j >= 0 && key[j] > mine; j--) { pods[j + 1] = pods[j]; key[j + 1] = key[j]; }
        pods[j + 1] = pod;
        key[j + 1] = mine;
    }
}

/* Opens a node for less than was paid and puts on it what fits; returns how many pods are left. */
static int64_t fill_large(Rebuild *n, int64_t *node, int64_t n_pods, int64_t paid) {
    int64_t affordable = 0;
    while (affordable < n->n_offers && n->price[affordable] < paid) affordable++;
    if (!affordable) return n_pods;
    int64_t most = n->price[drawn(n, affordable)], rest = 0;
    clear_node(n, node);
    for (int64_t i = 0; i < n_pods; i++) {
        int64_t offer = with_one_more(n, node, n->pods[i]);
        if (offer >= 0 && n->price[offer] <= most) put_pod(n, node, n->pods[i], offer);
        else n->pods[rest++] = n->pods[i];
    }
    return rest;
}

static int64_t price_of(const Rebuild *n, const int64_t *nodes, int64_t count) {
    int64_t stride = stride_of(n), price = 0;
    for (int64_t l = 0; l < n->n_limits; l++) {
        int64_t used = 0;
        for (int64_t i = 0; i < count; i++) used += n->use[l * n->n_offers + nodes[i * stride]];
        if (used > n->left[l]) return UNLIMITED;
    }
    for (int64_t i = 0; i < count; i++) price += n->price[nodes[i * stride]];
    return price;
}

static void copy_nodes(int64_t *to, const int64_t *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

static void keep_nodes(Rebuild *n, const int64_t *nodes, int64_t count) {
    int64_t stride = stride_of(n);
    for (int64_t i = 0; i < count && n->n_kept < n->most_kept; i++)
        copy_nodes(n->kept + n->n_kept++ * n->n_sorts, nodes + i * stride + 1, n->n_sorts);
}

/* Takes some nodes away; returns how many are left. Their pods are in `pods`, what they cost in `paid`. */
static int64_t ruin(Rebuild *n, int64_t *now, int64_t count, int64_t gone, int64_t *n_pods, int64_t *paid) {
    int64_t stride = stride_of(n);
    for (int64_t i = 0; i < gone; i++) {
        int64_t place = drawn(n, count), *out = now + place * stride;
        *paid += n->price[out[0]];
        for (int64_t s = 0; s < n->n_sorts; s++)
            for (int64_t c = 0; c < out[1 + s]; c++) n->pods[(*n_pods)++] = s;
        save_node(n, place);
        count--;
        if (place != count) copy_nodes(out, now + count * stride, stride);
    }
    return count;
}

/* Improves the first `count` nodes of the first state in place; returns how many there are then. */
EXPORT int64_t dovetail_recreate(Rebuild *n, int64_t count, int64_t tries, int64_t most_ruined) {
    int64_t stride = stride_of(n), *best = n->node, *now = best + n->room * stride;
    int64_t best_count = count, best_price = price_of(n, best, count), price = best_price;
    copy_nodes(now, best, count * stride);
    for (int64_t turn = 0; turn < tries && n->looks > 0 && count > 0; turn++) {
        int64_t n_pods = 0, paid = 0;
        n->n_saved = 0;
        n->turn = turn + 1;
        n->n_before = count;
        int64_t n_now = ruin(n, now, count, least(1 + drawn(n, most_ruined), count), &n_pods, &paid);
        sort_pods(n, n_pods, turn / 2);
        if (turn % 2) {
            save_node(n, n_now);
            int64_t rest = fill_large(n, now + n_now * stride, n_pods, paid);
            if (rest < n_pods) n_now++;
            n_pods = rest;
        }
        for (int64_t i = 0; i < n_pods && n_now >= 0; i++)
            n_now = insert_pod(n, now, n_now, n->pods[i], drawn(n, 32));
        int64_t price_now = n_now < 0 ? UNLIMITED : price_of(n, now, n_now);
        /* A little dearer at first: a part of what a node costs. */
        int64_t slack = best_price / (SLACK * best_count) * (tries - turn) / tries;
        if (n_now < 0 || (price_now > price && price_now > best_price + slack)) {
            undo_try(n);
            continue;
        }
        count = n_now;
        price = price_now;
        if (price < best_price || (price == best_price && count < best_count)) {
            best_price = price;
            best_count = count;
            copy_nodes(best, now, count * stride);
            keep_nodes(n, best, count);
        }
    }
    return best_count;
}
