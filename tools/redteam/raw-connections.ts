/** TLS connections that send nothing, or half of a request, and stay open. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export class RawConnections {
  readonly #host: string;
  readonly #port: number;
  readonly #open = new Set<Socket>();

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Opens `count` connections that send `text` once they are up; a plain one never speaks TLS. */
  open(count: number, { isPlain = false, text = "" } = {}): void {
    for (let i = 0; i < count; i++) {
      const options = { host: this.#host, port: this.#port };
      const socket = isPlain
        ? connect(options)
        : connectTls({ ...options, rejectUnauthorized: false });
      socket.on("error", () => undefined);
      socket.on("close", () => this.#open.delete(socket));
      socket.once(isPlain ? "connect" : "secureConnect", () => {
        if (text !== "") socket.write(text);
      });
      this.#open.add(socket);
    }
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy();
    this.#open.clear();
  }
}
