/**
 * The port of a cluster: opened, closed as if the machine were lost, and opened again at the same
 * address.
 */
import { Listener, type TlsMaterial } from "@kcp-ts/apiserver";
import type { Handle } from "./faults.ts";

export interface PortOptions {
  readonly host?: string;
  /** A free port if omitted. */
  readonly port?: number;
  /** The serving certificate, and the CA that clients verify it with. */
  readonly tls: TlsMaterial & { readonly caPem: string };
}

export class Port {
  readonly host: string;
  readonly caPem: string;
  readonly #options: PortOptions;
  readonly #handle: Handle;
  #listener: Listener | undefined;
  #port: number;

  constructor(options: PortOptions, handle: Handle) {
    this.#options = options;
    this.#handle = handle;
    this.host = options.host ?? "127.0.0.1";
    this.caPem = options.tls.caPem;
    this.#port = options.port ?? 0;
  }

  /** The number of the port after it was opened. */
  get number(): number {
    return this.#port;
  }

  get url(): string {
    return `https://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.#port}`;
  }

  async open(): Promise<void> {
    if (this.#listener !== undefined) return;
    const listener = new Listener({
      host: this.host,
      port: this.#port,
      tls: this.#options.tls,
      handle: this.#handle,
      onDebug: () => {},
    });
    this.#listener = listener;
    this.#port = (await listener.listen()).port;
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.drain(AbortSignal.abort());
  }
}

export interface KubeconfigInput {
  readonly name: string;
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

/** A kubeconfig as JSON, which is valid YAML with any content. */
export function formatKubeconfig({ name, url, caPem, token }: KubeconfigInput): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [
      {
        name,
        cluster: {
          server: url,
          "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64"),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: `${name}-admin` } }],
    users: [{ name: `${name}-admin`, user: { token } }],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
