"""Adapters of vector environments and rollouts to other libraries; each is imported only when
used."""
