"""calipers"""
