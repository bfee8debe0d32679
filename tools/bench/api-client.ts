/** Requests that prepare a measurement. What is measured is sent by the load generator. */
import { type ClientHttp2Session, connect } from "node:http2";

export interface ApiTarget {
  readonly url: string;
  readonly token: string;
}

export interface BenchResponse {
  readonly status: number;
  readonly body: Buffer;
}

export class ApiClient {
  readonly #origin: string;
  readonly #basePath: string;
  readonly #token: string;
  #current: ClientHttp2Session | undefined;

  constructor({ url, token }: ApiTarget) {
    const { origin, pathname } = new URL(url);
    this.#origin = origin;
    this.#basePath = pathname.replace(/\/$/, "");
    this.#token = token;
  }

  /** A server closes a connection that is idle for minutes; then there is another one. */
  get #session(): ClientHttp2Session {
    if (this.#current !== undefined && !this.#current.closed) return this.#current;
    const session = connect(this.#origin, {
      // The measured server has a certificate of its own making.
      rejectUnauthorized: false,
      settings: { initialWindowSize: 16 << 20 },
    });
    // Each request reports it, too.
    session.on("error", () => undefined);
    this.#current = session;
    return session;
  }

  request(
    method: string,
    path: string,
    body?: string,
    contentType = "application/json",
    accept = "application/json",
  ): Promise<BenchResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":method": method,
        ":path": this.#basePath + path,
        authorization: `Bearer ${this.#token}`,
        accept,
        ...(body === undefined ? {} : { "content-type": contentType }),
      });
      const parts: Buffer[] = [];
      let status = 0;
      stream.on("response", (headers) => {
        status = Number(headers[":status"]);
      });
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => resolve({ status, body: Buffer.concat(parts) }));
      stream.on("error", reject);
      stream.end(body);
    });
  }

  async status(method: string, path: string): Promise<number> {
    return (await this.request(method, path)).status;
  }

  async must(method: string, path: string, body?: string, contentType?: string): Promise<Buffer> {
    const answer = await this.request(method, path, body, contentType);
    if (answer.status < 300) return answer.body;
    const text = answer.body.toString("utf8").slice(0, 300);
    throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }

  /**
   * Hands out every line of a stream, until the client is closed. Resolves when the server has
   * answered, with a function that ends the watch.
   */
  watch(path: string, onLine: (line: string) => void): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":path": this.#basePath + path,
        authorization: `Bearer ${this.#token}`,
      });
      let rest = "";
      stream.setEncoding("utf8");
      stream.on("response", (headers) => {
        if (headers[":status"] === 200) resolve(() => stream.close());
        else reject(new Error(`GET ${path}: ${headers[":status"]}`));
      });
      stream.on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) onLine(line);
      });
      stream.on("error", reject);
    });
  }

  close(): void {
    this.#current?.destroy();
  }
}
