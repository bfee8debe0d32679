/** The shapes of admissionregistration.k8s.io/v1 that webhooks and policies share, and the webhooks' own. */
import { labelSelector, objectMeta } from "./meta.ts";
import { bytes, int32, list, listMap, message, string } from "./shape.ts";

export const admissionregistration = "io.k8s.api.admissionregistration.v1";

const rule = message(`${admissionregistration}.Rule`, {
  apiGroups: [1, list(string), "API groups of the resources; * is all."],
  apiVersions: [2, list(string), "API versions of the resources; * is all."],
  resources: [3, list(string), "Resources, such as configmaps, namespaces/status or */*."],
  scope: [4, string, "Cluster, Namespaced or *."],
});

export const ruleWithOperations = message(
  `${admissionregistration}.RuleWithOperations`,
  { operations: [1, list(string), "CREATE, UPDATE, DELETE, CONNECT or *."] },
  "Which operations on which resources are meant.",
  { inlined: [2, rule] },
);

export const matchCondition = message(
  `${admissionregistration}.MatchCondition`,
  {
    name: [1, string, "A name for this condition."],
    expression: [2, string, "A CEL expression that is true for requests that are meant."],
  },
  "A condition that a request must meet.",
  { required: ["name", "expression"] },
);

const serviceReference = message(
  `${admissionregistration}.ServiceReference`,
  {
    namespace: [1, string, "Namespace of the service."],
    name: [2, string, "Name of the service."],
    path: [3, string, "The path to send requests to."],
    port: [4, int32, "The port of the service; 443 by default."],
  },
  "Points at a service.",
  { required: ["namespace", "name"] },
);

const clientConfig = message(
  `${admissionregistration}.WebhookClientConfig`,
  {
    url: [3, string, "Where the webhook is, as an https URL. Either this or service."],
    service: [1, serviceReference, "Where the webhook is, as a service. Either this or url."],
    caBundle: [2, bytes, "Authorities of the webhook's certificate as PEM, in base64."],
  },
  "How the webhook is reached.",
);

const common = {
  name: [1, string, "A fully qualified name, such as check.example.com."],
  clientConfig: [2, clientConfig, "How the webhook is reached."],
  rules: [3, list(ruleWithOperations), "Which operations on which resources are sent to it."],
  failurePolicy: [4, string, "What to do when it cannot be asked: Ignore or Fail."],
  matchPolicy: [
    9,
    string,
    "Whether rules mean other versions of the resource, too: Exact or Equivalent.",
  ],
  namespaceSelector: [5, labelSelector, "Only objects in such namespaces."],
  sideEffects: [6, string, "None or NoneOnDryRun."],
  timeoutSeconds: [7, int32, "How long to wait for an answer: 1 to 30, by default 10."],
  admissionReviewVersions: [8, list(string), "Versions of AdmissionReview it knows, best first."],
} as const;

const objectSelector = "Only objects with such labels, before or after the change.";
const matchConditions = [
  listMap(matchCondition, "name"),
  "Only requests that meet all of these; at most 64.",
] as const;
const requiredOfWebhook = ["name", "clientConfig", "sideEffects", "admissionReviewVersions"];

const validatingWebhook = message(
  `${admissionregistration}.ValidatingWebhook`,
  {
    ...common,
    objectSelector: [10, labelSelector, objectSelector],
    matchConditions: [11, ...matchConditions],
  },
  "A webhook that may refuse requests.",
  { required: requiredOfWebhook },
);

const mutatingWebhook = message(
  `${admissionregistration}.MutatingWebhook`,
  {
    ...common,
    objectSelector: [11, labelSelector, objectSelector],
    reinvocationPolicy: [10, string, "Whether it is asked again after others: Never or IfNeeded."],
    matchConditions: [12, ...matchConditions],
  },
  "A webhook that may change objects.",
  { required: requiredOfWebhook },
);

export const validatingWebhookConfiguration = message(
  `${admissionregistration}.ValidatingWebhookConfiguration`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    webhooks: [2, listMap(validatingWebhook, "name"), "The webhooks that are asked."],
  },
  "Webhooks that accept or refuse changes of objects, without changing them.",
);

export const mutatingWebhookConfiguration = message(
  `${admissionregistration}.MutatingWebhookConfiguration`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    webhooks: [2, listMap(mutatingWebhook, "name"), "The webhooks that are asked, in order."],
  },
  "Webhooks that accept or refuse changes of objects, and may change them.",
);
