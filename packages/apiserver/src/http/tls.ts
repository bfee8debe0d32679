/** TLS of the listener: versions and ciphers, and the certificate for each server name. */
import { createSecureContext, type SecureContext } from "node:tls";

export interface TlsMaterial {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** A certificate for clients that request one of these server names; `*.` stands for one label. */
export interface NamedTlsMaterial extends TlsMaterial {
  readonly names: readonly string[];
}

export type TlsVersion = "TLSv1.2" | "TLSv1.3";

/** Ciphers with forward secrecy and authenticated encryption; all suites of TLS 1.3 have both. */
const modernCiphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

export function secureContextOptions(tls: TlsMaterial, minVersion: TlsVersion) {
  return { cert: tls.certificatePem, key: tls.privateKeyPem, minVersion, ciphers: modernCiphers };
}

/** Certificates by server name; other clients get the listener's own. */
export class NamedCertificates {
  readonly #minVersion: TlsVersion;
  /** In the given order: the first of two certificates for the same name is used. */
  #exact: ReadonlyMap<string, SecureContext> = new Map();
  #wildcards: ReadonlyMap<string, SecureContext> = new Map();

  constructor(materials: readonly NamedTlsMaterial[], minVersion: TlsVersion) {
    this.#minVersion = minVersion;
    this.replace(materials);
  }

  /**
   * Applies from the next connection on. Throws when a certificate is invalid, and keeps the old
   * ones.
   */
  replace(materials: readonly NamedTlsMaterial[]): void {
    const exact = new Map<string, SecureContext>();
    const wildcards = new Map<string, SecureContext>();
    for (const material of materials) {
      const context = createSecureContext(secureContextOptions(material, this.#minVersion));
      for (const name of material.names.map((each) => each.toLowerCase())) {
        const [map, key] = name.startsWith("*.") ? [wildcards, name.slice(2)] : [exact, name];
        if (!map.has(key)) map.set(key, context);
      }
    }
    this.#exact = exact;
    this.#wildcards = wildcards;
  }

  find(servername: string): SecureContext | undefined {
    const name = servername.toLowerCase();
    const parent = name.slice(name.indexOf(".") + 1);
    return this.#exact.get(name) ?? (parent === name ? undefined : this.#wildcards.get(parent));
  }
}
