/** For tests: a server, a tenant's webhooks beside it, and requests as a client sends them. */
import assert from "node:assert/strict";
import type { Transport, TransportRequest } from "@kcp-ts/sdk/client";
import { eventually } from "../testing/index.ts";
import { LocalWebhooks } from "./local-webhooks.ts";

/** As far as these tests look into it. */
export interface Answered {
  readonly message?: string;
  readonly reason?: string;
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly Answered[];
  readonly [member: string]: unknown;
}

export interface Reply {
  readonly status: number;
  readonly object: Answered;
}

export interface WebhookOptions {
  readonly name: string;
  readonly path: string;
  readonly resource: string;
  readonly group?: string;
  readonly operations?: readonly string[];
  readonly isTrusted?: boolean;
  /** Members of the webhook beside those. */
  readonly more?: object;
}

const registration = "/apis/admissionregistration.k8s.io/v1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export class Scene {
  readonly webhooks: LocalWebhooks;
  readonly #transport: Transport;
  readonly #prefix: string;

  private constructor(webhooks: LocalWebhooks, transport: Transport, prefix: string) {
    this.webhooks = webhooks;
    this.#transport = transport;
    this.#prefix = prefix;
  }

  /** Requests go to paths behind the prefix. */
  static async open(transport: Transport, prefix: string): Promise<Scene> {
    return new Scene(await LocalWebhooks.start(), transport, prefix);
  }

  close(): Promise<void> {
    return this.webhooks.close();
  }

  async send(method: string, path: string, body?: object, type = "application/json") {
    const response = await this.#transport.send({
      method: method as TransportRequest["method"],
      path: this.#prefix + path,
      headers: body === undefined ? {} : { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const object = JSON.parse(await response.body.text()) as Answered;
    return { status: response.status, object } satisfies Reply;
  }

  async must(method: string, path: string, body?: object, type?: string): Promise<Answered> {
    const { status, object } = await this.send(method, path, body, type);
    assert.ok(status < 300, `${method} ${path}: ${status} ${object.message}`);
    return object;
  }

  /** Refused, and the refusal says so. */
  async refused(says: RegExp, ...request: Parameters<Scene["send"]>): Promise<Reply> {
    const reply = await this.send(...request);
    assert.ok(reply.status >= 400, `${request[0]} ${request[1]}: ${reply.status}`);
    assert.match(reply.object.message ?? "", says);
    return reply;
  }

  merge(path: string, patch: object): Promise<Answered> {
    return this.must("PATCH", path, patch, "application/merge-patch+json");
  }

  webhook({ name, path, resource, group = "", ...rest }: WebhookOptions): object {
    const { operations = ["CREATE"], isTrusted = true, more = {} } = rest;
    const rule = { operations, apiGroups: [group], apiVersions: ["*"], resources: [resource] };
    return {
      name,
      clientConfig: this.webhooks.at(path, { isTrusted }),
      rules: [rule],
      sideEffects: "None",
      admissionReviewVersions: ["v1", "v1beta1"],
      ...more,
    };
  }

  /** Registers a configuration under a name, and returns its path. */
  async register(
    kind: "mutating" | "validating",
    name: string,
    webhooks: readonly object[],
    labels: object = {},
  ): Promise<string> {
    const path = configurations(kind);
    await this.must("POST", path, { metadata: { name, labels }, webhooks });
    return `${path}/${name}`;
  }

  /** Installs a definition, until it is served. */
  async install(definition: { readonly metadata: { readonly name: string } }): Promise<string> {
    await this.must("POST", definitions, definition);
    const path = `${definitions}/${definition.metadata.name}`;
    await patiently(async () => {
      const { status } = await this.must("GET", path);
      assert.match(JSON.stringify(status), /"type":"Established","status":"True"/);
    });
    return path;
  }
}

/** Ends when the check passes; a busy machine may take its time. */
export function patiently(check: () => Promise<void>): Promise<void> {
  return eventually(check, { timeoutMs: 60_000 });
}

export function configurations(kind: "mutating" | "validating"): string {
  return `${registration}/${kind}webhookconfigurations`;
}

export interface DefinitionOptions {
  readonly group: string;
  readonly versions: readonly object[];
  readonly conversion?: object;
}

/** A kind `Thing`. */
export function thingDefinition({ group, versions, conversion }: DefinitionOptions) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions,
      ...(conversion === undefined ? {} : { conversion }),
    },
  };
}

/** A version that keeps everything, or what its schema names. */
export function version(name: string, more: object = {}): object {
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return { name, served: true, storage: name === "v1", schema: { openAPIV3Schema }, ...more };
}
