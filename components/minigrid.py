"""Object types of MiniGrid that are not built in, for scenarios that name this module."""

from components.objects import BALL as BALL
from components.objects import LAVA as LAVA
from components.objects import PARCEL as PARCEL
