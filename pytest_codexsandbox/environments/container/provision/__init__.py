"""How an image comes to be: a base pulled or bootstrapped, one second stage for all, a lock file that pins both."""
