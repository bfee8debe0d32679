/** For tests: a server, a tenant's webhooks beside it, and requests as a client sends them. */
import type { Transport } from "@kcp-ts/sdk/client";
import { eventually } from "@kcp-ts/testkit";
import { Api } from "./api.ts";
import { LocalWebhooks } from "./local-webhooks.ts";

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

export class WebhookFixture extends Api {
  readonly webhooks: LocalWebhooks;

  private constructor(webhooks: LocalWebhooks, transport: Transport, prefix: string) {
    super(transport, prefix);
    this.webhooks = webhooks;
  }

  static async open(transport: Transport, prefix: string): Promise<WebhookFixture> {
    return new WebhookFixture(await LocalWebhooks.start(), transport, prefix);
  }

  close(): Promise<void> {
    return this.webhooks.close();
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
    await this.expectSuccess("POST", path, { metadata: { name, labels }, webhooks });
    return `${path}/${name}`;
  }
}

/** Ends when the check passes; a busy machine may take its time. */
export function eventuallyPasses(check: () => Promise<void>): Promise<void> {
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
