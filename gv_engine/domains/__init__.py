"""Domains: plugins for kinds of worlds, one package each, with the interface of `DomainPlugin`.

`gv_engine.scenario.plugin` defines the interface and lists the domains.
"""
