/**
 * ReloadableClientCa: the certificate authorities of client certificates, replaceable while the
 * server runs.
 */
import { X509Certificate } from "node:crypto";
import { AuthenticationConfigurationError } from "./errors.ts";

export class ReloadableClientCa {
  readonly #source: string;
  #certificates: readonly X509Certificate[];

  /** `pem` contains one or several certificates; `source` (a file name) is for messages. */
  constructor(pem: string, source: string) {
    this.#source = source;
    this.#certificates = parseAuthorities(pem, source);
  }

  /** `reload` replaces the array: the same array is the same pool. */
  get certificates(): readonly X509Certificate[] {
    return this.#certificates;
  }

  /**
   * Applies to the next request. Throws, and keeps the old authorities, when the text is invalid.
   */
  reload(pem: string): void {
    this.#certificates = parseAuthorities(pem, this.#source);
  }
}

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parseAuthorities(pem: string, source: string): readonly X509Certificate[] {
  const blocks = pem.match(pemBlock) ?? [];
  const begun = pem.split("-----BEGIN").length - 1;
  if (blocks.length === 0 || blocks.length !== begun) {
    throw new AuthenticationConfigurationError(
      `${source}: ${begun} PEM blocks, ${blocks.length} of them certificates; it must hold certificates and nothing else`,
    );
  }
  return blocks.map((block, at) => {
    const certificate = parseCertificate(block, `${source}, certificate ${at + 1}`);
    if (!certificate.ca && !isVersion1(certificate.raw)) {
      throw new AuthenticationConfigurationError(
        `${source}, certificate ${at + 1} (${oneLine(certificate.subject)}) is not an authority (CA:TRUE)`,
      );
    }
    return certificate;
  });
}

function parseCertificate(pem: string, source: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new AuthenticationConfigurationError(`${source} is damaged`, { cause });
  }
}

/**
 * Whether a certificate is of version 1, which has no extensions to say that it is an authority: as
 * in Kubernetes, the administrator who configures it says so. Its content begins with the serial
 * number, and that of later versions with a version in explicit tag 0.
 */
function isVersion1(der: Uint8Array): boolean {
  const content = contentAt(der, contentAt(der, 0));
  return der[content] === integerTag;
}

const integerTag = 0x02;

/** Where the content of the element begins: behind its tag and its length in DER. */
function contentAt(der: Uint8Array, at: number): number {
  const length = der[at + 1] ?? 0;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

function oneLine(name: string | undefined): string {
  return (name ?? "").replaceAll("\n", ", ");
}
