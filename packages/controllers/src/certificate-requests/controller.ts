/**
 * The controller of CertificateSigningRequests: it signs approved requests for client certificates,
 * and deletes old ones.
 *
 * One watch for all logical clusters; of a request the controller keeps only the version.
 * Authorization of the approval subresource decides who may approve; the signer decides which
 * requests it signs.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, type Clusters, Controller, type ControllerOptions } from "@kcp-ts/sdk";
import { type CertificateSigningRequest, certificateSigningRequests } from "../api/index.ts";
import { endOf } from "./end-of-request.ts";

export const clientSignerName = "kubernetes.io/kube-apiserver-client";

export interface CertificateRequest {
  readonly cluster: ClusterName;
  /** PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  /** Undefined: the signer's default. */
  readonly expirationSeconds: number | undefined;
}

export type SigningOutcome =
  | { readonly certificatePem: string }
  /** The request will never be signed; the reason is in the message. */
  | { readonly refusal: string };

export type SignCertificate = (wish: CertificateRequest) => SigningOutcome;

export interface CertificateRequestsOptions extends Pick<ControllerOptions, "metrics" | "onError"> {
  readonly clusters: Clusters;
  readonly sign: SignCertificate;
  readonly clock?: Clock;
}

export function certificateRequestsController(options: CertificateRequestsOptions): Controller {
  const { clusters, sign, clock = systemClock } = options;
  const controller = new Controller({
    name: "certificate-requests",
    clusters,
    clock,
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    async reconcile({ cluster, name }, { client, signal }) {
      const resource = client.resource(certificateSigningRequests);
      const request = await resource.find({ name }, { signal });
      if (request === undefined) return undefined;
      const restMs = endOf(request) - clock.now();
      if (restMs <= 0) {
        await remove(client, request, signal);
        return undefined;
      }
      if (isToSign(request)) {
        const decided = decide(request, sign, cluster, clock.now());
        await resource.updateStatus(decided, { signal });
        return undefined;
      }
      return { requeueAfterMs: restMs };
    },
  });
  return controller.watch<CertificateSigningRequest, string>(certificateSigningRequests, {
    transform: ({ metadata }) => metadata.resourceVersion ?? "",
    predicate: ({ type }) => type !== "deleted",
  });
}

function isToSign({ spec, status }: CertificateSigningRequest): boolean {
  const has = (type: string) => status?.conditions?.some((each) => each.type === type) === true;
  return (
    spec.signerName === clientSignerName &&
    has("Approved") &&
    !has("Denied") &&
    !has("Failed") &&
    (status?.certificate ?? "") === ""
  );
}

function decide(
  request: CertificateSigningRequest,
  sign: SignCertificate,
  cluster: ClusterName,
  nowMs: number,
): CertificateSigningRequest {
  const { spec, status = {} } = request;
  const outcome = sign({
    cluster,
    request: atob(spec.request),
    usages: spec.usages ?? [],
    expirationSeconds: spec.expirationSeconds,
  });
  if ("certificatePem" in outcome) {
    return { ...request, status: { ...status, certificate: btoa(outcome.certificatePem) } };
  }
  const failed = {
    type: "Failed",
    status: "True",
    reason: "SignerValidationFailure",
    message: outcome.refusal,
    lastUpdateTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
  };
  return { ...request, status: { ...status, conditions: [...(status.conditions ?? []), failed] } };
}

/** Preconditions for exactly this request, not for a later one of the same name. */
async function remove(
  client: Client,
  request: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.resource(certificateSigningRequests).sameObject(request).remove({ signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
  }
}
