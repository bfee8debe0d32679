/** Where the credentials of requests come from, and how they stay fresh. */
import { readFile } from "node:fs/promises";
import type { Clock } from "@kcp-ts/machinery/base";
import type { RequestHeaders } from "../client/index.ts";

export interface Credentials {
  /** For every request. */
  headers(): RequestHeaders | Promise<RequestHeaders>;
  /** For every new connection: PEM texts. */
  certificate(): Promise<ClientCertificate | undefined>;
  /** The server did not take them. True if there may be better ones now, so that another try makes sense. */
  refresh(): Promise<boolean>;
  /** Tells when new connections would get another certificate. Returns what ends the listening. */
  onNewCertificate?(listener: () => void): () => void;
}

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export type CertificateSource = () => Promise<ClientCertificate | undefined>;

const noCertificate: CertificateSource = async () => undefined;

/** No header, a token, or a user and password: whatever the kubeconfig says, for ever. */
export function staticCredentials(
  headers: RequestHeaders,
  certificate: CertificateSource = noCertificate,
): Credentials {
  return { headers: () => headers, certificate, refresh: async () => false };
}

export function bearer(token: string): RequestHeaders {
  return { authorization: `Bearer ${token}` };
}

export function basic(username: string, password: string): RequestHeaders {
  const encoded = Buffer.from(`${username}:${password}`).toString("base64");
  return { authorization: `Basic ${encoded}` };
}

export interface TokenFileOptions {
  readonly file: string;
  /** Used as long as the file could never be read. */
  readonly fallbackToken?: string | undefined;
  readonly certificate?: CertificateSource | undefined;
  readonly clock: Clock;
}

/** Kubelets rewrite a token long before it runs out; looking once a minute is what client-go does. */
export const tokenFileRereadMs = 60_000;

/** A token in a file that somebody else renews. The last one that could be read counts. */
export class TokenFileCredentials implements Credentials {
  readonly #options: TokenFileOptions;
  #headers: RequestHeaders | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<RequestHeaders> | undefined;

  constructor(options: TokenFileOptions) {
    this.#options = options;
  }

  headers(): RequestHeaders | Promise<RequestHeaders> {
    const ageMs = this.#options.clock.monotonic() - this.#readAtMs;
    if (this.#headers !== undefined && ageMs < tokenFileRereadMs) return this.#headers;
    return this.#read();
  }

  certificate(): Promise<ClientCertificate | undefined> {
    return (this.#options.certificate ?? noCertificate)();
  }

  async refresh(): Promise<boolean> {
    const before = this.#headers?.["authorization"];
    return (await this.#read())["authorization"] !== before;
  }

  #read(): Promise<RequestHeaders> {
    this.#reading ??= this.#readFile().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readFile(): Promise<RequestHeaders> {
    const { file, fallbackToken, clock } = this.#options;
    try {
      const token = (await readFile(file, "utf8")).trim();
      if (token === "") throw new Error(`${file} is empty`);
      this.#headers = bearer(token);
    } catch (error) {
      // A file that is being replaced is gone for a moment; an old token is better than none.
      if (this.#headers === undefined) {
        if (fallbackToken === undefined) throw error;
        return bearer(fallbackToken);
      }
    }
    this.#readAtMs = clock.monotonic();
    return this.#headers;
  }
}
