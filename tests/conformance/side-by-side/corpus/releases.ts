/**
 * What helm does: a Secret per revision found by labels, objects made, changed by three-way
 * patches, rolled back and removed.
 */
import type { CorpusRequest, CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, patch, post, put, remove } from "../requests.ts";

const at = "/api/v1/namespaces/releases";
const labels = "owner%3Dhelm,name%3Dshop";
const release = (revision: number, status: string, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: `sh.helm.release.v1.shop.v${revision}`,
    labels: { name: "shop", owner: "helm", status, version: String(revision) },
    ...rest,
  },
  type: "helm.sh/release.v1",
  data: { release: btoa(`revision ${revision} ${status}`) },
});
const managed = {
  labels: { "app.kubernetes.io/managed-by": "Helm" },
  annotations: {
    "meta.helm.sh/release-name": "shop",
    "meta.helm.sh/release-namespace": "releases",
  },
};
const helm = "fieldManager=helm";

export const releases: CorpusTopic = {
  name: "releases",
  requests: [
    namespace("releases"),
    ...install(),
    ...upgrade(),
    ...rollBack(),
    remove("uninstall: the object", `${at}/configmaps/shop`, {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
    }),
    get("uninstall: it is gone", `${at}/configmaps/shop`),
    remove("uninstall: the first revision", `${at}/secrets/sh.helm.release.v1.shop.v1`),
    remove("uninstall: the others", `${at}/secrets?labelSelector=${labels}`),
    get("uninstall: no history", `${at}/secrets?labelSelector=${labels}`),
  ],
};

function install(): CorpusRequest[] {
  return [
    get("install: is there a history", `${at}/secrets?labelSelector=${labels},status%3Ddeployed`),
    get("install: is the object there", `${at}/configmaps/shop`),
    post("install: the revision", `${at}/secrets?${helm}`, release(1, "pending-install")),
    post("install: the object", `${at}/configmaps?${helm}&fieldValidation=Strict`, {
      ...configMap("shop", { colour: "red", size: "1" }, managed),
    }),
    put("install: the revision is deployed", `${at}/secrets/sh.helm.release.v1.shop.v1?${helm}`, {
      ...release(1, "deployed"),
    }),
    post("install: the same again", `${at}/secrets?${helm}`, release(1, "pending-install")),
  ];
}

function upgrade(): CorpusRequest[] {
  return [
    get("upgrade: the last revision", `${at}/secrets?labelSelector=${labels},status%3Ddeployed`),
    post("upgrade: the revision", `${at}/secrets?${helm}`, release(2, "pending-upgrade")),
    patch("merge", "somebody else changes the object", `${at}/configmaps/shop`, {
      data: { extra: "kept" },
    }),
    patch(
      "strategic",
      "upgrade: the object",
      `${at}/configmaps/shop?${helm}&fieldValidation=Strict`,
      { data: { colour: "blue", size: null, shape: "round" } },
    ),
    patch("strategic", "upgrade: nothing to do", `${at}/configmaps/shop?${helm}`, {}),
    put("upgrade: the old revision", `${at}/secrets/sh.helm.release.v1.shop.v1?${helm}`, {
      ...release(1, "superseded"),
    }),
    put("upgrade: the new revision", `${at}/secrets/sh.helm.release.v1.shop.v2?${helm}`, {
      ...release(2, "deployed"),
    }),
    put("upgrade: its type cannot change", `${at}/secrets/sh.helm.release.v1.shop.v2?${helm}`, {
      ...release(2, "deployed"),
      type: "Opaque",
    }),
  ];
}

function rollBack(): CorpusRequest[] {
  return [
    get("roll back: the history", `${at}/secrets?labelSelector=${labels}`),
    get(
      "roll back: what was superseded",
      `${at}/secrets?labelSelector=owner%3Dhelm,status%20notin%20(deployed,failed)`,
    ),
    patch("strategic", "roll back: change the object", `${at}/configmaps/shop?${helm}`, {
      data: { colour: "red", size: "1", shape: null },
    }),
    patch("merge", "roll back: a kind without merge keys", `${at}/configmaps/shop?${helm}`, {
      metadata: { annotations: { "meta.helm.sh/release-name": "shop" } },
    }),
    post("roll back: the revision", `${at}/secrets?${helm}`, release(3, "deployed")),
    get("roll back: the object", `${at}/configmaps/shop`),
  ];
}
