"""The object types of MiniGrid that the built-in ones lack, for levels that name this module."""

from components.objects import BALL as BALL
from components.objects import LAVA as LAVA
from components.objects import PARCEL as PARCEL
