"""Files of one switch and one worker."""

__all__ = ["QP_TEXT", "SWITCH_TEXT", "WORKER_TEXT"]

SWITCH_TEXT = """\
name: s1
macs: [["02:49:4e:41:00:01", 0], ["02:49:4e:41:00:02", 1]]
rings:
  - ring_id: 1
    members: [{rank: 0, ip: 10.77.0.2, port: 0}, {rank: 1, ip: 10.77.0.3, port: 1}]
    arithmetic: {op: sum, dtype: int32}
    window_messages: 4
release: asap
"""
QP_TEXT = """\
  qpn: 256
  peer_qpn: 257
  first_psn: 0
  peer_first_psn: 5
  envelope: {src_mac: "02:49:4e:41:00:01", dst_mac: "02:49:4e:41:00:02", src_ip: 10.77.0.2, dst_ip: 10.77.0.3}
"""

WORKER_TEXT = f"""\
name: h1
to_successor:
{QP_TEXT}from_predecessor:
{QP_TEXT}collective: {{kind: netreduce, ring_id: 1, rank: 0, size: 2}}
workload: {{kind: synthetic, seed: 1, elements: 100, iterations: 1}}
"""
