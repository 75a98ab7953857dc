"""What people see: windows, pictures and sprites. Only modules in here import pygame."""
