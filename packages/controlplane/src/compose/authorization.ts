/**
 * Creates the authorizers from options, in their order: system:masters, always-allowed paths, RBAC,
 * a webhook.
 */
import {
  AllowedPathsError,
  type Authorizer,
  allowedPaths,
  privilegedGroups,
  type ReviewVersion,
  reviewVersions,
  unionAuthorizer,
  WebhookAuthorizer,
} from "@kcp-ts/apiserver";
import { type Clock, type Random, sleep } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import { OptionsError } from "../options.ts";
import { connectWebhook, type WebhookConnection } from "./webhook-connection.ts";

export interface AuthorizationOptions {
  /** The authorizers in order; of `authorizerNames`. All of them if omitted. */
  readonly authorizationOrder?: readonly string[] | undefined;
  /**
   * Paths that are open to all users; complete paths, or prefixes with a `*` at the end. The health
   * paths if omitted.
   */
  readonly authorizationAlwaysAllowPaths?: readonly string[] | undefined;
  /** A kubeconfig whose server accepts SubjectAccessReviews. */
  readonly authorizationWebhookConfigFile?: string | undefined;
  /** `v1` or `v1beta1`; the latter if left out. */
  readonly authorizationWebhookVersion?: string | undefined;
  readonly authorizationWebhookCacheAuthorizedTtlMs?: number | undefined;
  readonly authorizationWebhookCacheUnauthorizedTtlMs?: number | undefined;
}

export const authorizerNames = [
  "AlwaysAllowGroups",
  "AlwaysAllowPaths",
  "RBAC",
  "Webhook",
] as const;
type AuthorizerName = (typeof authorizerNames)[number];

const healthPaths = ["/healthz", "/readyz", "/livez"];
const authorizedTtlMs = 5 * 60_000;
const unauthorizedTtlMs = 30_000;

export interface Authorization {
  /** Inserts RBAC, with the workspace checks in front of it, at its place in the order. */
  around(roles: Authorizer): Authorizer;
  close(): Promise<void>;
}

export async function composeAuthorization(
  options: AuthorizationOptions,
  parts: { readonly clock: Clock; readonly random: Random },
): Promise<Authorization> {
  const order = orderOf(options);
  const paths = pathsOf(options);
  const file = options.authorizationWebhookConfigFile;
  const version = versionOf(options);
  if (file === undefined) return { around: (roles) => inOrder({ roles }), close: async () => {} };
  const connection = await connectWebhook(file, parts.clock);
  const webhook = new WebhookAuthorizer({
    review: (review) => post(connection, review, parts),
    version,
    authorizedTtlMs: options.authorizationWebhookCacheAuthorizedTtlMs ?? authorizedTtlMs,
    unauthorizedTtlMs: options.authorizationWebhookCacheUnauthorizedTtlMs ?? unauthorizedTtlMs,
    clock: parts.clock,
  });
  return { around: (roles) => inOrder({ roles, webhook }), close: connection.close };

  function inOrder({ roles, webhook: asked }: { roles: Authorizer; webhook?: Authorizer }) {
    const named: Readonly<Record<AuthorizerName, Authorizer | undefined>> = {
      AlwaysAllowGroups: privilegedGroups,
      AlwaysAllowPaths: paths,
      RBAC: roles,
      Webhook: asked,
    };
    return unionAuthorizer(order.map((name) => named[name]).filter((one) => one !== undefined));
  }
}

function orderOf({ authorizationOrder }: AuthorizationOptions): readonly AuthorizerName[] {
  const order = authorizationOrder ?? authorizerNames;
  for (const name of order) {
    if (!authorizerNames.includes(name as AuthorizerName))
      throw new OptionsError(`--authorization-order: invalid authorizer: ${JSON.stringify(name)}`);
  }
  if (!order.includes("AlwaysAllowGroups"))
    throw new OptionsError(
      "--authorization-order must have AlwaysAllowGroups: the control loops of this server are masters",
    );
  return order as readonly AuthorizerName[];
}

function pathsOf({ authorizationAlwaysAllowPaths }: AuthorizationOptions): Authorizer {
  try {
    return allowedPaths(authorizationAlwaysAllowPaths ?? healthPaths);
  } catch (error) {
    if (!(error instanceof AllowedPathsError)) throw error;
    throw new OptionsError(`--authorization-always-allow-paths: ${error.message}`);
  }
}

function versionOf({
  authorizationWebhookVersion = "v1beta1",
}: AuthorizationOptions): ReviewVersion {
  const version = reviewVersions.find((one) => one === authorizationWebhookVersion);
  if (version !== undefined) return version;
  throw new OptionsError(
    `unsupported webhook authorizer version ${JSON.stringify(authorizationWebhookVersion)}, supported versions are ${reviewVersions.map((one) => JSON.stringify(one)).join(", ")}`,
  );
}

const attemptsMax = 5;
const delayFirstMs = 500;
const delayFactor = 1.5;
const delayJitter = 0.2;
/** Decisions that may change a moment later. */
const transientStatuses: ReadonlySet<number> = new Set([429, 500, 504]);

async function post(
  connection: WebhookConnection,
  review: JsonObject,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<JsonObject> {
  const body = stringifyJson(review);
  let delayMs = delayFirstMs;
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await connection.post(body);
    if (status < 300) return answerIn(text);
    if (attempt === attemptsMax || !transientStatuses.has(status))
      throw new Error(`the authorization webhook answered ${status}`);
    await sleep(clock, delayMs * (1 + random.next() * delayJitter));
    delayMs *= delayFactor;
  }
}

function answerIn(text: string): JsonObject {
  const value = parseBounded(bounds.reviewAnswer, text);
  if (!isJsonObject(value)) throw new Error("the authorization webhook answered with no object");
  return value;
}
