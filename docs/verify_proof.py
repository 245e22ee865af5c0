#!/usr/bin/env python3
"""Check a proof of `kuelog audit prove`: python verify_proof.py PROOF.json [FINGERPRINT]

A proof says either that a message stands on the log, or that the log at one checkpoint goes on from an older one.

Needs Python and the package `cryptography`, nothing of kuelog. Name the fingerprint of a signing key that you have from
somewhere else than the proof; without one the proof shows only that the message belongs to whoever made the proof.
"""

import base64
import hashlib
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha(data):
    """SHA-256."""
    return hashlib.sha256(data).digest()


def signed(public, text, signature):
    """Whether a public key has signed a text."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def root_of(proof):
    """From the leaf upwards (RFC 6962 §2.1.1): the message, its neighbours, the root."""
    parts = [proof[name].encode() for name in ("stream", "subject", "message_id")] + [base64.b64decode(proof["data"])]
    node = sha(b"\0" + b"".join(b"%d:%s," % (len(part), part) for part in parts))
    at, last, path = proof["sequence"] - 1, proof["checkpoint"]["sequence"] - 1, list(proof["path"])
    while last > 0:
        if at % 2 or at < last:
            beside = bytes.fromhex(path.pop(0))
            node = sha(b"\1" + (beside + node if at % 2 else node + beside))
        at, last = at // 2, last // 2
    return node.hex() if at == 0 and not path else "a path of the wrong length"


def goes_on(old, new, path):
    """Whether the tree of one checkpoint begins with all of the tree of another (RFC 9162 §2.1.4.2)."""
    if not 0 < old["sequence"] <= new["sequence"] < 1 << 63:
        return False
    if old["sequence"] == new["sequence"]:
        return old["root"] == new["root"] and not path
    nodes = [bytes.fromhex(node) for node in path]
    at, last = old["sequence"] - 1, new["sequence"] - 1
    if at & (at + 1) == 0:  # the old tree is complete: its root is a node of the new one
        nodes.insert(0, bytes.fromhex(old["root"]))
    while at % 2:
        at, last = at // 2, last // 2
    first = second = nodes.pop(0)
    for node in nodes:
        if not last:
            return False
        if at % 2 or at == last:
            first, second = sha(b"\1" + node + first), sha(b"\1" + node + second)
            while at and not at % 2:
                at, last = at // 2, last // 2
        else:
            second = sha(b"\1" + second + node)
        at, last = at // 2, last // 2
    return not last and (first.hex(), second.hex()) == (old["root"], new["root"])


def trusted_keys(keys, roots):
    """Each key that is named, or endorsed by a trusted one, and how far it counts; the first are recorded by half a name."""
    public, ends, names = {}, {}, [key["id"][:16] for key in keys]
    for key in keys:
        ends.setdefault(key["replaces"], []).append(key["upto"])
    for key in keys:
        sizes = "".join(f"{stream} {size}\n" for stream, size in sorted(key["upto"].items()))
        text = f"kuelog key\n{key['public']}\n{key['replaces']}\n{sizes}"
        whole, before = sha(bytes.fromhex(key["public"])).hex(), public.get(key["replaces"])
        named = not roots.isdisjoint((key["id"], whole[:32]))
        endorsed = before and len(ends[key["replaces"]]) == 1 and signed(before, text, key["endorsement"])
        if key["id"] in (whole[:32], whole[:16]) and names.count(whole[:16]) == 1 and (named or endorsed):
            public[key["id"]] = key["public"]
    return public, ends


def problem_with(proof, fingerprint):
    """Why the proof does not hold; None when it does."""
    newest, old, stream = proof["checkpoint"], proof.get("old"), proof["stream"]
    if old and not goes_on(old, newest, proof["consistency"]):
        return "the older root and the path do not lead to the newer root"
    if not old and root_of(proof) != newest["root"]:
        return "the message and its path do not lead to the root"
    public, ends = trusted_keys(proof["keys"], {fingerprint or proof["keys"][0]["id"]})
    for head in filter(None, (old, newest)):
        if head["key"] not in public:
            return f"the checkpoint is signed by {head['key']}, which the key you named does not vouch for"
        text = f"kuelog checkpoint\n{stream}\n{head['sequence']}\n{head['root']}\n{head['sha256']}\n"
        if not signed(public[head["key"]], text, head["signature"]):
            return "the signature of the checkpoint is wrong"
        if any(head["sequence"] > upto.get(stream, 0) for upto in ends.get(head["key"], ())):
            return "the checkpoint was signed with a key that had been replaced"
    return None


def shown(text):
    """A text as it is, or escaped where it could move a cursor."""
    return text if text.isprintable() else ascii(text)


def main():
    """Check the proof that is named on the command line. 0: it holds; 1: it does not; 2: there is none."""
    file, fingerprint = "".join(sys.argv[1:2]), "".join(sys.argv[2:3])
    try:
        with open(file, "rb") as stored:
            proof = json.load(stored)
        problem = problem_with(proof, fingerprint)
    except OSError as missing:
        print(f"name the file of a proof: {missing}")
        return 2
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as missing:
        problem = f"it is not a complete proof ({missing!r})"
    if problem:
        print(shown(f"DOES NOT HOLD: {problem}"))
        return 1
    newest, old, at = proof["checkpoint"], proof.get("old"), proof.get("sequence")
    what = f"goes on from {old['sequence']} to {newest['sequence']}" if old else f"{at} of {newest['sequence']}"
    print(f"holds: {proof['stream']} {what}, signed by {newest['key']}")
    if not fingerprint:
        print("no fingerprint was named: this is true only if", proof["keys"][0]["id"], "is a key that you know")
    if old:
        print(f"{old['sequence']} {old['root']}\n{newest['sequence']} {newest['root']}")
    else:
        print(shown(base64.b64decode(proof["data"]).decode("utf-8", "backslashreplace")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
