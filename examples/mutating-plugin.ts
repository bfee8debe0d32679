/** An admission plug-in in the server's process: it fills in a label, and refuses what breaks a rule. No webhook, no certificate, no hop. */
import { type AdmissionPlugin, statusError } from "kcp-ts/server";
import { startTestControlPlane } from "kcp-ts/testing";
import { configMaps } from "./config-maps.ts";

const costCenter: AdmissionPlugin = {
  name: "CostCenter",
  /** Before defaults and validation, on creates, updates, patches and applies alike. */
  mutate({ resource, user }, draft) {
    if (resource !== "configmaps") return;
    const metadata = draft["metadata"] as { labels?: Record<string, string> };
    metadata.labels = { "cost-center": user.username, ...metadata.labels };
  },
  /** Sees the object as it would be stored. */
  validate({ resource, name }, object) {
    const { labels } = object["metadata"] as { labels?: Record<string, string> };
    if (resource !== "configmaps" || labels?.["cost-center"] !== "nobody") return;
    const reason = "somebody has to pay";
    throw statusError.forbidden({ group: "", resource }, name, reason);
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
