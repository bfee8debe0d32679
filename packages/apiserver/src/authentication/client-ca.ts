/** The authorities whose client certificates are accepted, replaceable while the server runs. */
import { X509Certificate } from "node:crypto";
import { AuthenticationConfigurationError } from "./errors.ts";

export class ReloadableClientCa {
  readonly #source: string;
  #certificates: readonly X509Certificate[];

  /** `pem` is one or several certificates; `source` (a file name) is for the messages. */
  constructor(pem: string, source: string) {
    this.#source = source;
    this.#certificates = parseAuthorities(pem, source);
  }

  /** Replaced as a whole by `reload`: the same array is the same pool. */
  get certificates(): readonly X509Certificate[] {
    return this.#certificates;
  }

  /** From the next request on. When the text cannot be used, throws and keeps the old authorities. */
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
    if (!certificate.ca) {
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

function oneLine(name: string | undefined): string {
  return (name ?? "").replaceAll("\n", ", ");
}
