/* Zachary's karate club: 34 members, 78 friendships, and the two clubs that it split into.
 * Source: W. W. Zachary, Journal of Anthropological Research 33 (1977), 452-473. Members count from 1 here. */
#ifndef EXAMPLES_KARATE_H
#define EXAMPLES_KARATE_H

enum { MEMBERS = 34, FRIENDSHIPS = 78 };

static const unsigned char friends[FRIENDSHIPS][2] = {
    {1, 2},   {1, 3},   {1, 4},   {1, 5},   {1, 6},   {1, 7},   {1, 8},   {1, 9},   {1, 11},
    {1, 12},  {1, 13},  {1, 14},  {1, 18},  {1, 20},  {1, 22},  {1, 32},  {2, 3},   {2, 4},
    {2, 8},   {2, 14},  {2, 18},  {2, 20},  {2, 22},  {2, 31},  {3, 4},   {3, 8},   {3, 9},
    {3, 10},  {3, 14},  {3, 28},  {3, 29},  {3, 33},  {4, 8},   {4, 13},  {4, 14},  {5, 7},
    {5, 11},  {6, 7},   {6, 11},  {6, 17},  {7, 17},  {9, 31},  {9, 33},  {9, 34},  {10, 34},
    {14, 34}, {15, 33}, {15, 34}, {16, 33}, {16, 34}, {19, 33}, {19, 34}, {20, 34}, {21, 33},
    {21, 34}, {23, 33}, {23, 34}, {24, 26}, {24, 28}, {24, 30}, {24, 33}, {24, 34}, {25, 26},
    {25, 28}, {25, 32}, {26, 32}, {27, 30}, {27, 34}, {28, 34}, {29, 32}, {29, 34}, {30, 33},
    {30, 34}, {31, 33}, {31, 34}, {32, 33}, {32, 34}, {33, 34},
};

/* Who followed member 1, the teacher, into the new club; the others stayed with member 34. */
static const unsigned char with_member_1[] = {1,  2,  3,  4,  5,  6,  7,  8, 9,
                                              11, 12, 13, 14, 17, 18, 20, 22};

#endif
