"""One file a pane. Panes never talk to each other; they change the Session and listen to it."""
