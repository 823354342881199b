"""The service: answers pages and programs, without Gradio."""
