"""The front end: windows, pictures and sprites. Only modules in here import pygame."""
