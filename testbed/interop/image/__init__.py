"""What the guest boots from: kernel, modules, initrd, a few files of /etc, and our code. Made once, kept in a work
folder."""
