/** The sources of credentials, and their renewal. */
import { readFile } from "node:fs/promises";
import type { Clock } from "@kcp-ts/machinery/base";
import type { RequestHeaders } from "../client/index.ts";
import { KubeconfigError } from "./fields.ts";

export interface Credentials {
  /** The headers of every request. */
  headers(): RequestHeaders | Promise<RequestHeaders>;
  /** The client certificate of every new connection: PEM texts. */
  certificate(): Promise<ClientCertificate | undefined>;
  /**
   * The server rejected the credentials. True if new ones may be available, so that a retry makes
   * sense.
   */
  refresh(): Promise<boolean>;
  /**
   * Calls back when new connections would use another certificate. Returns a function that
   * unsubscribes.
   */
  onNewCertificate?(listener: () => void): () => void;
}

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export type CertificateSource = () => Promise<ClientCertificate | undefined>;

const noCertificate: CertificateSource = async () => undefined;

/** Static credentials of the kubeconfig: no header, a token, or a user and password. */
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
  /** Used as long as the file could not be read. */
  readonly fallbackToken?: string | undefined;
  readonly certificate?: CertificateSource | undefined;
  readonly clock: Clock;
}

/**
 * The kubelet rewrites a token long before it expires; client-go also reads the file once a minute.
 */
export const tokenFileRereadMs = 60_000;

/** A token in a file that another process renews. The last token that could be read is used. */
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
      const token = (await readNamed(file)).trim();
      if (token === "") throw new KubeconfigError(`${file} is empty`);
      this.#headers = bearer(token);
    } catch (error) {
      // A file that is being replaced is missing for a moment; an old token is better than none.
      if (this.#headers === undefined) {
        if (fallbackToken === undefined) throw error;
        return bearer(fallbackToken);
      }
    }
    this.#readAtMs = clock.monotonic();
    return this.#headers;
  }
}

/** A file that the kubeconfig names. */
export async function readNamed(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new KubeconfigError(`the kubeconfig names a file: ${(error as Error).message}`);
  }
}
