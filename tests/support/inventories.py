"""An inventory with all that one may hold."""

__all__ = ["INVENTORY"]

INVENTORY = """\
name: bench
known_hosts: trust/known_hosts
defaults:
  user: lab
  key: {file: keys/id_ed25519, passphrase_env: LAB_PASS}
  connect_timeout: 2s
hosts:
  gate: {address: gate.example, key: {agent: true}}
  h1:
    address: 10.0.0.1
    port: 2222
    jump: gate
    interfaces:
      data: {device: ens1f0, mtu: 9000, rdma: mlx5_0, switch_port: tor1/12}
    power: {cycle: [pdu, cycle, "3"]}
  f1: {address: 10.0.0.9, base: /srv/ina/, python: /usr/bin/python3, packages: host}
cards:
  fpga0: {host: f1, transport: "bar:/sys/bus/pci/devices/0000:03:00.0/resource0", ports: [h1.data]}
groups:
  workers: [h1]
"""
