/**
 * For tests: webhooks of a tenant's, over HTTPS on this machine. One path is one webhook; what each
 * does is what the Kubernetes conformance tests expect of theirs.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncListener, createTestAuthority } from "@kcp-ts/testkit";

/** An object of any kind, as far as these webhooks look into it. */
export interface Reviewed {
  readonly apiVersion?: string;
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly containers?: readonly { readonly name: string }[] };
  readonly [member: string]: unknown;
}

export interface Review {
  readonly uid: string;
  readonly operation: string;
  readonly object: Reviewed | null;
  readonly oldObject: Reviewed | null;
}

export interface AdmissionResult {
  readonly allowed?: boolean;
  readonly message?: string;
  /** JSON patch operations. */
  readonly patch?: readonly object[];
}

type Webhook = (review: Review) => AdmissionResult | Promise<AdmissionResult>;
type Conversion = (object: Reviewed, apiVersion: string) => object;

export class LocalWebhooks {
  /** Paths, in the order in which they were asked. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #folder: string;
  readonly #caBundle: string;
  readonly #webhooks = new Map<string, Webhook>();
  readonly #conversions = new Map<string, Conversion>();

  private constructor(server: Server, folder: string, ca: string) {
    this.#server = server;
    this.#folder = folder;
    this.#caBundle = Buffer.from(ca).toString("base64");
    server.on(
      "request",
      asyncListener(async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
        const review = JSON.parse(Buffer.concat(parts).toString("utf8"));
        const { pathname } = new URL(String(request.url), "https://localhost");
        this.requests.push(pathname);
        const answer = await this.#answer(pathname, review.request);
        response.statusCode = answer === undefined ? 404 : 200;
        response.end(JSON.stringify({ ...review, request: undefined, response: answer }));
      }),
    );
  }

  static async start(): Promise<LocalWebhooks> {
    const folder = await mkdtemp(join(tmpdir(), "webhooks-"));
    const authority = createTestAuthority(folder);
    const { key, cert } = authority.issue("localhost", ["DNS:localhost", "IP:127.0.0.1"]);
    const server = createServer({ key, cert });
    server.listen(0, "localhost");
    await once(server, "listening");
    return new LocalWebhooks(server, folder, authority.ca);
  }

  /** What stands under a path from now on. */
  serve(path: string, webhook: Webhook): void {
    this.#webhooks.set(path, webhook);
  }

  serveConversion(path: string, conversion: Conversion): void {
    this.#conversions.set(path, conversion);
  }

  /** A `clientConfig`; without the bundle nobody believes the certificate. */
  at(path: string, { isTrusted = true } = {}): object {
    const { port } = this.#server.address() as AddressInfo;
    return {
      url: `https://localhost:${port}${path}`,
      ...(isTrusted ? { caBundle: this.#caBundle } : {}),
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#folder, { recursive: true });
  }

  async #answer(path: string, request: unknown): Promise<object | undefined> {
    const convert = this.#conversions.get(path);
    if (convert !== undefined) return converted(request as ConversionRequest, convert);
    const webhook = this.#webhooks.get(path);
    if (webhook === undefined) return undefined;
    const review = request as Review;
    const { allowed = true, message, patch } = await webhook(review);
    return {
      uid: review.uid,
      allowed,
      ...(message === undefined ? {} : { status: { message } }),
      ...(patch === undefined ? {} : { patchType: "JSONPatch", patch: base64(patch) }),
    };
  }
}

interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly Reviewed[];
}

function converted(request: ConversionRequest, convert: Conversion): object {
  const { uid, objects, desiredAPIVersion } = request;
  const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion));
  return { uid, result: { status: "Success" }, convertedObjects };
}

function base64(patch: readonly object[]): string {
  return Buffer.from(JSON.stringify(patch)).toString("base64");
}
