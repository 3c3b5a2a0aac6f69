"""Zachary's karate club: 34 members, 78 friendships, and the two clubs that it split into.

Source: W. W. Zachary, "An information flow model for conflict and fission in small groups", Journal of
Anthropological Research 33 (1977), 452-473. Members are numbered from 1 there and in the tables below,
from 0 in what load() gives. Member 1 taught, member 34 presided; they fell out.
"""

import numpy as np

from gcn import Task

# The friends of each member that have a higher number.
FRIENDS = {
    1: (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32),
    2: (3, 4, 8, 14, 18, 20, 22, 31),
    3: (4, 8, 9, 10, 14, 28, 29, 33),
    4: (8, 13, 14),
    5: (7, 11),
    6: (7, 11, 17),
    7: (17,),
    9: (31, 33, 34),
    10: (34,),
    14: (34,),
    15: (33, 34),
    16: (33, 34),
    19: (33, 34),
    20: (34,),
    21: (33, 34),
    23: (33, 34),
    24: (26, 28, 30, 33, 34),
    25: (26, 28, 32),
    26: (32,),
    27: (30, 34),
    28: (34,),
    29: (32, 34),
    30: (33, 34),
    31: (33, 34),
    32: (33, 34),
    33: (34,),
}
# Who followed member 1 into the new club; the others stayed with member 34.
WITH_MEMBER_1 = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22)


def load():
    """Which club does each member join? Only members 1 and 34 are labelled; features are one-hot."""
    low, high = np.array([(i, j) for i, friends in FRIENDS.items() for j in friends]).T - 1
    member = np.arange(34)
    return Task(
        name="karate club",
        src=np.concatenate([low, high]),
        dst=np.concatenate([high, low]),
        feature_row=member,
        feature_column=member,
        feature_value=np.ones(34, np.float32),
        labels=(~np.isin(member + 1, WITH_MEMBER_1)).astype(np.int64),
        train=np.array([0, 33]),
        test=np.arange(1, 33),
    )
