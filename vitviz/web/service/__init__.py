"""The service: what a page or a program asks, answered without Gradio."""
