/** A webhook as its configuration describes it, shared by all clusters with an equal webhook. */
import { InternPool } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  textsOf,
} from "@kcp-ts/machinery/json";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";
import type { Expression } from "../expressions/expression.ts";
import { readMatchConditions } from "../expressions/match-conditions.ts";
import { type MatchCriteria, readMatchCriteria } from "../matching/criteria.ts";
import { contentKey } from "../policies/policy.ts";

const timeoutDefaultSeconds = 10;

export class Webhook {
  readonly name: string;
  readonly criteria: MatchCriteria;
  readonly client: WebhookClientConfig;
  readonly timeoutMs: number;
  /** Whether failures to call the webhook are ignored. */
  readonly isIgnored: boolean;
  readonly isReinvoked: boolean;
  readonly canDryRun: boolean;
  readonly reviewVersion: "v1" | "v1beta1";
  readonly #spec: JsonObject;
  #conditions: readonly Expression[] | undefined;

  constructor(spec: JsonObject) {
    const { name, timeoutSeconds = timeoutDefaultSeconds, sideEffects } = spec;
    this.#spec = spec;
    this.name = String(name);
    this.criteria = readMatchCriteria(spec, "rules");
    this.client = readClient(spec["clientConfig"]);
    this.timeoutMs = Number(timeoutSeconds) * 1000;
    this.isIgnored = spec["failurePolicy"] === "Ignore";
    this.isReinvoked = spec["reinvocationPolicy"] === "IfNeeded";
    this.canDryRun = sideEffects === "None" || sideEffects === "NoneOnDryRun";
    const versions = textsOf(spec["admissionReviewVersions"]);
    this.reviewVersion =
      versions.find((version) => version === "v1" || version === "v1beta1") === "v1beta1"
        ? "v1beta1"
        : "v1";
  }

  /** The match conditions, compiled on first use. */
  get conditions(): readonly Expression[] {
    this.#conditions ??= readMatchConditions(this.#spec["matchConditions"]);
    return this.#conditions;
  }
}

const interned = new InternPool<Webhook>();

export function readWebhooks(object: JsonObject): readonly Webhook[] {
  return objectsOf(object["webhooks"]).map((spec) =>
    interned.get(contentKey(spec), () => new Webhook(spec)),
  );
}

function readClient(value: JsonValue | undefined): WebhookClientConfig {
  const { url, service, caBundle = "" } = isJsonObject(value) ? value : ({} as JsonObject);
  return {
    url: typeof url === "string" ? url : undefined,
    service: isJsonObject(service)
      ? {
          namespace: String(service["namespace"]),
          name: String(service["name"]),
          path: typeof service["path"] === "string" ? service["path"] : undefined,
          port: Number(service["port"] ?? 443),
        }
      : undefined,
    caBundle: String(caBundle),
  };
}
