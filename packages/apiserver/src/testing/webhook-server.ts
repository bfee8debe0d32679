/** A webhook over HTTPS for tests: it responds by path, and records its requests. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncListener, createTestAuthority } from "@kcp-ts/testkit";
import type { AnyObject, TestServer } from "./test-server.ts";

export interface ReviewRequest {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly object: AnyObject | null;
  readonly oldObject: AnyObject | null;
  readonly [member: string]: unknown;
}

export interface WebhookReviewResponse {
  readonly allowed?: boolean;
  readonly status?: object;
  /** JSON patch operations. */
  readonly patch?: readonly object[];
  readonly warnings?: readonly string[];
  readonly auditAnnotations?: object;
  /** The complete body, when it is not a valid AdmissionReview. */
  readonly raw?: string | object;
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export type WebhookResponder = (
  request: ReviewRequest,
) => WebhookReviewResponse | Promise<WebhookReviewResponse>;

export class WebhookServer {
  readonly receivedReviews: {
    readonly path: string;
    readonly host: string | undefined;
    readonly request: ReviewRequest;
  }[] = [];
  readonly #server: Server;
  readonly #directory: string;
  readonly #ca: string;
  readonly #answers = new Map<string, WebhookResponder>();

  private constructor(server: Server, directory: string, ca: string) {
    this.#server = server;
    this.#directory = directory;
    this.#ca = ca;
    server.on(
      "request",
      asyncListener(async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
        const review = JSON.parse(Buffer.concat(parts).toString("utf8"));
        const path = String(request.url);
        this.receivedReviews.push({ path, host: request.headers.host, request: review.request });
        const answer = this.#answers.get(new URL(path, "https://x").pathname);
        const given: WebhookReviewResponse = await (answer ?? unknownPath)(review.request);
        response.writeHead(given.code ?? 200, given.headers ?? {});
        response.end(JSON.stringify(given.raw ?? reviewAnswer(review, given)));
      }),
    );
  }

  /** Its certificate is for this machine, or for the given names. */
  static async start(names = ["DNS:localhost", "IP:127.0.0.1"]): Promise<WebhookServer> {
    const directory = await mkdtemp(join(tmpdir(), "webhook-"));
    const authority = createTestAuthority(directory);
    const { key, cert } = authority.issue("localhost", names);
    const server = createServer({ key, cert });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new WebhookServer(server, directory, authority.ca);
  }

  /** Drops the recorded requests and the configured responses. */
  reset(): void {
    this.receivedReviews.length = 0;
    this.#answers.clear();
  }

  respondWith(path: string, answerer: WebhookResponder): void {
    this.#answers.set(path, answerer);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get caBundle(): string {
    return Buffer.from(this.#ca).toString("base64");
  }

  client(path: string): object {
    return { url: `https://localhost:${this.port}${path}`, caBundle: this.caBundle };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#directory, { recursive: true });
  }
}

const unknownPath: WebhookResponder = () => ({ code: 404 });

function reviewAnswer(
  { apiVersion, request }: { apiVersion: string; request: ReviewRequest },
  answer: WebhookReviewResponse,
): object {
  const { allowed = true, status, patch, warnings, auditAnnotations } = answer;
  const text = patch === undefined ? undefined : JSON.stringify(patch);
  return {
    kind: "AdmissionReview",
    apiVersion,
    response: {
      uid: request.uid,
      allowed,
      status,
      warnings,
      auditAnnotations,
      ...(text === undefined
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(text).toString("base64") }),
    },
  };
}

export const rulesFor = (resource: string, operations = ["CREATE"], group = "") => [
  { operations, apiGroups: [group], apiVersions: ["*"], resources: [resource] },
];

export const registration = "/apis/admissionregistration.k8s.io/v1";

/**
 * Registers one webhook in a cluster; the name of the configuration is the first part of the
 * webhook's.
 */
export function register(
  server: TestServer,
  kind: "mutating" | "validating",
  webhook: { readonly name: string; readonly clientConfig: object; readonly rules: object },
  cluster = "a",
): Promise<AnyObject> {
  const body = {
    metadata: { name: webhook.name.split(".")[0] },
    webhooks: [{ sideEffects: "None", admissionReviewVersions: ["v1"], ...webhook }],
  };
  const path = `/clusters/${cluster}${registration}/${kind}webhookconfigurations`;
  return server.requestOk("POST", path, { body });
}
