/*
 * The graph of candidates as a picture: seeds around the middle, children outside of their
 * parents, colour by speed, the way to the best drawn strong.
 *
 * A long run has more candidates than a picture can show: then the best are drawn, with everybody
 * on the way to them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/private.h"

enum { SIZE = 640, MIDDLE = SIZE / 2, RADIUS = SIZE / 2 - 16, SHADES = 7 };

struct leaf { /* a candidate in the picture */
    const struct candidate *candidate;
    int parent, first, next; /* numbers; -1: none */
    int depth;
    double angle, x, y;
    bool chosen, on_path;
};

struct tree {
    const struct report *report;
    struct leaf *leaves; /* parents before children */
    int count, depth, ends;
};

/* ---- who is in it ---- */

static int compare_fitness(const void *a, const void *b)
{
    const struct leaf *const *first = a, *const *second = b;
    double x = (*first)->candidate->fitness, y = (*second)->candidate->fitness;
    return (x < y) - (x > y);
}

/* Marks the best, and whoever leads to them, until the picture is full. */
static void choose(struct arena *arena, struct leaf *all, size_t count)
{
    struct leaf **order = arena_array(arena, count, sizeof(*order));
    int room = REPORT_TREE;
    for (size_t i = 0; i < count; i++)
        order[i] = &all[i];
    qsort(order, count, sizeof(*order), compare_fitness);
    for (size_t i = 0; i < count && room > 0; i++)
        for (struct leaf *at = order[i]; at && !at->chosen;
             at = at->parent >= 0 ? &all[at->parent] : NULL) {
            at->chosen = true;
            room--;
        }
}

static int number_of(const struct report *report, int64_t id)
{
    const struct candidate *candidate = id ? report_find(report, id) : NULL;
    return candidate ? (int)(candidate - report->all) : -1;
}

static void gather(struct tree *tree, struct leaf *all)
{
    const struct report *report = tree->report;
    int *new_number = arena_array(report->arena, report->count, sizeof *new_number);
    tree->leaves = arena_array(report->arena, report->count, sizeof *tree->leaves);
    for (size_t i = 0; i < report->count; i++) {
        new_number[i] = -1;
        if (!all[i].chosen)
            continue;
        struct leaf *leaf = &tree->leaves[tree->count];
        *leaf = all[i];
        leaf->parent = leaf->parent >= 0 ? new_number[leaf->parent] : -1;
        leaf->depth = leaf->parent >= 0 ? tree->leaves[leaf->parent].depth + 1 : 1;
        tree->depth = leaf->depth > tree->depth ? leaf->depth : tree->depth;
        leaf->first = leaf->next = -1;
        new_number[i] = tree->count++;
    }
    /* Backwards, so that children come in the order they were proposed. */
    for (int i = tree->count; i-- > 0;) {
        int parent = tree->leaves[i].parent;
        if (parent < 0)
            continue;
        tree->leaves[i].next = tree->leaves[parent].first;
        tree->leaves[parent].first = i;
    }
}

/* ---- where they are ---- */

/* Angles are given to those without children in turn; the others stand in the middle of theirs. */
static void place(struct tree *tree, int number, int *ends)
{
    struct leaf *leaf = &tree->leaves[number];
    if (leaf->first < 0) {
        leaf->angle = 2 * 3.14159265358979 * (*ends)++ / tree->ends;
    } else {
        double low = INFINITY, high = -INFINITY;
        for (int child = leaf->first; child >= 0; child = tree->leaves[child].next) {
            place(tree, child, ends);
            low = fmin(low, tree->leaves[child].angle);
            high = fmax(high, tree->leaves[child].angle);
        }
        leaf->angle = (low + high) / 2;
    }
    double radius = RADIUS * (0.12 + 0.88 * (leaf->depth - 1) / fmax(1, tree->depth - 1));
    leaf->x = MIDDLE + radius * sin(leaf->angle);
    leaf->y = MIDDLE - radius * cos(leaf->angle);
}

static void layout(struct tree *tree)
{
    int ends = 0;
    for (int i = 0; i < tree->count; i++)
        tree->ends += tree->leaves[i].first < 0;
    for (int i = 0; i < tree->count; i++)
        if (tree->leaves[i].parent < 0)
            place(tree, i, &ends);
}

/* ---- drawing ---- */

static void draw_edge(struct text *out, const struct tree *tree, const struct leaf *leaf)
{
    const struct leaf *parent = leaf->parent >= 0 ? &tree->leaves[leaf->parent] : NULL;
    double x = parent ? parent->x : MIDDLE, y = parent ? parent->y : MIDDLE;
    /* Bent, so that it leaves the parent outwards. */
    double middle = (hypot(x - MIDDLE, y - MIDDLE) + hypot(leaf->x - MIDDLE, leaf->y - MIDDLE)) / 2;
    double angle = parent ? parent->angle : leaf->angle;
    text_printf(out, "<path class='edge%s' d='M%.1f %.1fQ%.1f %.1f %.1f %.1f'/>\n",
                leaf->on_path ? " way" : "", x, y, MIDDLE + middle * sin(angle),
                MIDDLE - middle * cos(angle), leaf->x, leaf->y);
}

static void draw_leaf(struct text *out, const struct tree *tree, const struct leaf *leaf)
{
    const struct candidate *candidate = leaf->candidate, *best = tree->report->best;
    bool right = candidate->fitness > 0, winner = candidate == best;
    double size = winner ? 9 : leaf->on_path ? 6 : right ? 4.5 : 3;
    text_printf(out, "<circle class='");
    if (winner)
        text_add(out, "peak");
    else if (!right)
        text_add(out, "bad");
    else {
        double part = best && best->fitness > 0 ? candidate->fitness / best->fitness : 1;
        int shade = (int)(SHADES * fmin(0.999, fmax(0, (part - 0.3) / 0.7)));
        text_printf(out, "v%d", shade);
    }
    text_printf(out, "' cx='%.1f' cy='%.1f' r=%.1f><title>%lld: ", leaf->x, leaf->y, size,
                (long long)candidate->id);
    if (right)
        text_printf(out, "%.3g times the baseline", candidate->fitness);
    else
        text_add(out, outcome_name(candidate->outcome));
    text_add(out, "\n");
    html_escape(out, report_proposer(candidate));
    text_add(out, candidate->action ? ": " : "");
    html_escape(out, candidate->action);
    text_add(out, "</title></circle>\n");
}

static void draw(struct text *out, const struct tree *tree)
{
    double low = MIDDLE, high = MIDDLE; /* no more room than it takes */
    for (int i = 0; i < tree->count; i++) {
        low = fmin(low, tree->leaves[i].y);
        high = fmax(high, tree->leaves[i].y);
    }
    text_printf(out,
                "<svg class=tree viewBox='0 %.0f %d %.0f' role=img aria-label='the graph of "
                "candidates'>\n",
                low - 14, SIZE, high - low + 28);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < tree->count; i++)
            if (tree->leaves[i].on_path == pass)
                draw_edge(out, tree, &tree->leaves[i]);
    text_printf(out, "<circle class=root cx=%d cy=%d r=4 />\n", MIDDLE, MIDDLE);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < tree->count; i++)
            if (tree->leaves[i].on_path == pass)
                draw_leaf(out, tree, &tree->leaves[i]);
    text_add(out, "</svg>\n<p class=legend><span>slower</span>");
    for (int i = 0; i < SHADES; i++)
        text_printf(out, "<i class='square v%d'></i>", i);
    text_add(out, "<span>as fast as the best</span><span><i class=bad></i>not right</span>"
                  "<span><i class=line></i>the way to the best</span></p>\n");
}

void report_tree(struct text *out, const struct report *report)
{
    struct tree tree = {.report = report};
    if (report->count == 0)
        return;
    struct leaf *all = arena_array(report->arena, report->count, sizeof *all);
    for (size_t i = 0; i < report->count; i++) {
        int parent = number_of(report, report->all[i].parents[0]);
        all[i] =
            (struct leaf){.candidate = &report->all[i], .parent = parent < (int)i ? parent : -1};
    }
    for (size_t i = 0; i < report->step_count; i++)
        all[report->steps[i] - report->all].on_path = true;
    choose(report->arena, all, report->count);
    gather(&tree, all);
    layout(&tree);
    text_add(out, "<section><h2>What was tried</h2>\n");
    draw(out, &tree);
    text_add(out,
             "<p class=note>In the middle the first plans, around them what was made of them.");
    if ((size_t)tree.count < report->count)
        text_printf(out, " Of %zu candidates the best are drawn, with those on the way to them.",
                    report->count);
    text_add(out, "</p></section>\n");
}
