"""The page: all that knows Gradio or HTTP."""
