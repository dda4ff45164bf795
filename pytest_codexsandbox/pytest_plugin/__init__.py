"""Everything that knows pytest; imported only when the plugin is activated."""
