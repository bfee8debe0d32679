/**
 * An admission plug-in in the server's process: it fills in a label, and refuses what breaks a
 * rule. No webhook, no certificate, no hop.
 */
import { type AdmissionPlugin, denied } from "kcp-ts/apiserver";
import { configMaps } from "kcp-ts/kinds";
import { startTestControlPlane } from "kcp-ts/testing";

const costCenter: AdmissionPlugin = {
  name: "CostCenter",
  /**
   * Requests that it has nothing to do with cost nothing: other kinds, and what the server does for
   * itself.
   */
  handles: ({ resource, operation, user }) =>
    resource === "configmaps" && operation !== "DELETE" && !user.username.startsWith("system:"),
  /** Before defaults and validation, on creates, updates, patches and applies alike. */
  mutate({ user }, draft) {
    const metadata = draft["metadata"] as { labels?: Record<string, string> };
    metadata.labels = { "cost-center": user.username, ...metadata.labels };
  },
  /** Sees the object as it would be stored. */
  validate(request, object) {
    const { labels } = object["metadata"] as { labels?: Record<string, string> };
    if (labels?.["cost-center"] !== "nobody") return;
    throw denied(request, "somebody has to pay");
  },
};

const k = await startTestControlPlane({ admissionPlugins: [costCenter] });
const client = k.client.resource(configMaps);
const created = await client.create({ metadata: { name: "a", namespace: "default" } });
console.log(created.metadata.labels?.["cost-center"]);
const labels = { "cost-center": "nobody" };
await client
  .create({ metadata: { name: "b", namespace: "default", labels } })
  .catch((error: Error) => console.log(error.message));
await k.close();
