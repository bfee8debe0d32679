/**
 * Encodes one X.509 v3 certificate to DER and PEM (RFC 5280). Pure, except for the random serial
 * number.
 *
 * certificate-authority.ts decides on the content.
 */
import { createPublicKey, hash, type KeyObject, randomBytes } from "node:crypto";
import {
  expectTag,
  readBitString,
  readChildren,
  readObjectIdentifier,
  readOnly,
} from "./der-reader.ts";
import { der, derTag } from "./der-writer.ts";
import { objectIdentifier } from "./object-identifiers.ts";
import { signedSequence } from "./signature.ts";

export type Purpose = "serverAuth" | "clientAuth";

export interface CertificateFields {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  /** The key that is certified. */
  readonly publicKey: KeyObject;
  /** The issuer's key. */
  readonly signingKey: KeyObject;
  readonly authorityKeyId: Buffer | undefined;
  readonly notBefore: number;
  readonly notAfter: number;
  /** An authority may sign certificates and nothing else. */
  readonly profile:
    | { readonly authority: true }
    | {
        readonly authority: false;
        readonly purposes: readonly Purpose[];
        /** Encoded GeneralNames. */
        readonly alternativeNames?: Buffer | undefined;
      };
}

export function encodeCertificate(parts: CertificateFields): string {
  const certificate = signedSequence(
    (algorithmIdentifier) =>
      der.sequence(
        der.explicit(0, der.unsigned(Buffer.from([2]))),
        der.unsigned(randomSerial()),
        algorithmIdentifier,
        parts.issuer,
        der.sequence(der.time(parts.notBefore), der.time(parts.notAfter)),
        parts.subject,
        publicKeyInfo(parts.publicKey),
        der.explicit(3, der.sequence(...extensions(parts))),
      ),
    parts.signingKey,
  );
  return toPem("CERTIFICATE", certificate);
}

/** The fields of an issuer's certificate that the certificates below it must repeat. */
export function readIssuer(certificate: Buffer): {
  readonly subject: Buffer;
  readonly keyId: Buffer | undefined;
} {
  const [tbs] = readChildren(readOnly(certificate, derTag.sequence), derTag.sequence);
  const fields = readChildren(tbs, derTag.sequence);
  // version [0] is optional; then serial, algorithm, issuer, validity, subject.
  const subject = expectTag(fields[fields[0]?.tag === 0xa0 ? 5 : 4], derTag.sequence);
  const list = fields.find((field) => field.tag === 0xa3);
  const all =
    list === undefined
      ? []
      : readChildren(readOnly(list.content, derTag.sequence), derTag.sequence);
  for (const extension of all) {
    const children = readChildren(extension, derTag.sequence);
    if (readObjectIdentifier(children[0]) !== objectIdentifier.subjectKeyIdentifier) continue;
    const value = expectTag(children.at(-1), derTag.octetString).content;
    return { subject: subject.bytes, keyId: readOnly(value, derTag.octetString).content };
  }
  return { subject: subject.bytes, keyId: undefined };
}

/** The first 160 bits of the SHA-256 of the public key (RFC 7093, method 1). */
export function keyIdentifier(publicKey: KeyObject): Buffer {
  const [, bits] = readChildren(
    readOnly(publicKeyInfo(publicKey), derTag.sequence),
    derTag.sequence,
  );
  return Buffer.from(hash("sha256", readBitString(bits), "hex"), "hex").subarray(0, 20);
}

export function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

function publicKeyInfo(key: KeyObject): Buffer {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return publicKey.export({ type: "spki", format: "der" });
}

/** 126 random bits, positive and of constant length: RFC 5280 allows up to 20 bytes. */
function randomSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

function extensions(parts: CertificateFields): Buffer[] {
  const { profile, publicKey, authorityKeyId } = parts;
  const list = [
    critical(objectIdentifier.basicConstraints, basicConstraints(profile.authority)),
    critical(objectIdentifier.keyUsage, keyUsage(parts)),
    extension(objectIdentifier.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
  ];
  if (authorityKeyId !== undefined) {
    list.push(
      extension(
        objectIdentifier.authorityKeyIdentifier,
        der.sequence(der.implicit(0, authorityKeyId)),
      ),
    );
  }
  if (profile.authority) return list;
  const purposes = profile.purposes.map((name) => der.objectIdentifier(objectIdentifier[name]));
  list.push(extension(objectIdentifier.extendedKeyUsage, der.sequence(...purposes)));
  if (profile.alternativeNames !== undefined) {
    list.push(alternativeNamesExtension(profile.alternativeNames));
  }
  return list;
}

/** The complete extension, as it appears in the certificate's bytes. */
export function alternativeNamesExtension(alternativeNames: Buffer): Buffer {
  return extension(objectIdentifier.subjectAltName, alternativeNames);
}

/**
 * `cA` is omitted when false: DER does not encode a default. An authority may not have authorities
 * below it.
 */
function basicConstraints(authority: boolean): Buffer {
  return authority
    ? der.sequence(der.boolean(true), der.unsigned(Buffer.from([0])))
    : der.sequence();
}

/**
 * keyCertSign and cRLSign for an authority; digitalSignature for others, and keyEncipherment if
 * their key is RSA.
 */
function keyUsage({ profile, publicKey }: CertificateFields): Buffer {
  if (profile.authority) return der.bitString(Buffer.from([0x06]), 1);
  return publicKey.asymmetricKeyType === "rsa"
    ? der.bitString(Buffer.from([0xa0]), 5)
    : der.bitString(Buffer.from([0x80]), 7);
}

function extension(type: string, value: Buffer): Buffer {
  return der.sequence(der.objectIdentifier(type), der.octetString(value));
}

function critical(type: string, value: Buffer): Buffer {
  return der.sequence(der.objectIdentifier(type), der.boolean(true), der.octetString(value));
}
