"""Fakes that ship for users' tests: a scripted model server over real HTTP. No product module imports this."""
