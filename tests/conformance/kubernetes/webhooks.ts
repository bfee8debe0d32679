/** For tests: what the webhooks of the conformance tests do, each by its path. */
import type { AdmissionResult, LocalWebhooks, Review } from "./local-webhooks.ts";

export const deniedName = { key: "webhook-e2e-test", value: "webhook-disallow" } as const;

/** Puts them all up. */
export function serveWebhooks(webhooks: LocalWebhooks): void {
  webhooks.serve("/always-deny", () => denied("this webhook denies all requests"));
  webhooks.serve("/add-label", addLabel);
  webhooks.serve("/configmaps", (review) =>
    isUnwanted(review) ? denied("the configmap contains unwanted key and value") : {},
  );
  webhooks.serve("/custom-resource", judgeCustomResource);
  webhooks.serve("/crd", ({ object }) =>
    object?.metadata.labels?.[deniedName.key] === deniedName.value
      ? denied("the crd contains unwanted label")
      : {},
  );
  webhooks.serve("/pods", judgePod);
  webhooks.serve("/mutating-pods", () => ({
    patch: [{ op: "add", path: "/spec/initContainers", value: [initContainer] }],
  }));
  for (const path of ["/mutating-configmaps", "/mutating-custom-resource"])
    webhooks.serve(path, nextStage);
}

export const initContainer = { image: "webhook-added-image", name: "webhook-added-init-container" };

/**
 * The first to be asked adds stage 1 to what has a start, the second stage 2 to what has stage 1.
 */
export function nextStage({ object }: Review): AdmissionResult {
  const { data = {} } = object ?? {};
  const patch: object[] = [];
  const add = (key: string) => patch.push({ op: "add", path: `/data/${key}`, value: "yes" });
  if (data["mutation-start"] === "yes" && data["mutation-stage-1"] === undefined)
    add("mutation-stage-1");
  else if (data["mutation-stage-1"] === "yes" && data["mutation-stage-2"] === undefined)
    add("mutation-stage-2");
  return { patch };
}

function denied(message: string): AdmissionResult {
  return { allowed: false, message };
}

function isUnwanted({ object }: Review): boolean {
  return object?.data?.[deniedName.key] === deniedName.value;
}

function addLabel({ object }: Review): AdmissionResult {
  const labels = { ...object?.metadata.labels, "added-label": "yes" };
  return { patch: [{ op: "add", path: "/metadata/labels", value: labels }] };
}

function judgeCustomResource(review: Review): AdmissionResult {
  if (review.operation === "DELETE")
    return review.oldObject?.data?.[deniedName.key] === "webhook-nondeletable"
      ? denied("the custom resource cannot be deleted because it contains unwanted key and value")
      : {};
  return isUnwanted(review) ? denied("the custom resource contains unwanted data") : {};
}

/** Never answers about a Pod that is to wait. */
function judgePod({ object }: Review): AdmissionResult | Promise<AdmissionResult> {
  const why: string[] = [];
  if (object?.metadata.labels?.[deniedName.key] === "wait-forever") return new Promise(() => {});
  if (object?.metadata.labels?.[deniedName.key] === deniedName.value)
    why.push("the pod contains unwanted label");
  if (object?.spec?.containers?.some(({ name }) => name === deniedName.value))
    why.push("the pod contains unwanted container name");
  return why.length === 0 ? {} : denied(why.join("; "));
}
