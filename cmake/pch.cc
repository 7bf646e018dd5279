// The precompiled header of the standard library is built with this file.
