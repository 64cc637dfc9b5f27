"""A Java trust store with the certificate authorities of the system.

A Java runtime from a wheel brings its own authorities. Behind a proxy that re-signs TLS it then
trusts nobody, while the system, told by its administrator, does.
"""

from __future__ import annotations

import os
import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path

PASSWORD = "changeit"
"""Protects nothing: the certificates are public, but Java reads no store without a password."""

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def system_bundle(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the PEM file with the authorities that this system trusts, or None."""
    named = [environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_BUNDLES]
    return next((Path(p) for p in named if p and Path(p).is_file()), None)


def write_trust_store(bundle: Path, target: Path) -> int:
    """Write the certificates of a PEM file as a PKCS12 trust store; return how many."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        serialize_java_truststore,
    )

    with warnings.catch_warnings():
        # Some authorities in use since long have serial numbers that the library frowns upon.
        warnings.simplefilter("ignore")
        certificates = x509.load_pem_x509_certificates(bundle.read_bytes())
    entries = [PKCS12Certificate(c, f"ca{i}".encode()) for i, c in enumerate(certificates)]
    store = serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode()))
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(store)
    partial.replace(target)
    return len(entries)
