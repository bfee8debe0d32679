import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { RequestScope } from "../request/request-scope.ts";
import { anonymousUser, clusterNameKey, type UserInfo } from "../request/user.ts";
import { Shares, shownClustersMax } from "./classifier.ts";

const user = (username: string, extra = {}): UserInfo => ({ username, groups: [], extra });
const scope = (cluster: string): RequestScope => ({
  kind: "path",
  cluster: cluster as ClusterName,
  path: "/",
  verb: "get",
  query: new URLSearchParams(),
});

describe("tenant keys", () => {
  it("are one for each user over all clusters that are not known to exist", () => {
    const shares = new Shares();
    const of = (name: string, cluster: string) => shares.shareOf(user(name), scope(cluster));
    assert.equal(of("a", "x"), of("a", "y"));
    assert.notEqual(of("a", "x"), of("b", "x"));
    shares.show("x");
    assert.equal(of("a", "x"), "x");
    assert.equal(of("b", "x"), "x");
    assert.notEqual(of("a", "y"), "x");
  });

  it("differ for service accounts of the same name in different clusters", () => {
    const shares = new Shares();
    const account = (cluster: string) => user("account", { [clusterNameKey]: [cluster] });
    const shareOf = (cluster: string) => shares.shareOf(account(cluster), scope("x"));
    assert.notEqual(shareOf("p"), shareOf("q"));
  });

  it("are one for all unauthenticated clients", () => {
    const shares = new Shares();
    shares.show("x");
    assert.equal(shares.shareOf(anonymousUser, scope("x")), "");
    assert.equal(shares.shareOf(anonymousUser, scope("y")), "");
  });

  it("are kept for a limited number of clusters, and beyond it for the latest ones", () => {
    const shares = new Shares();
    for (let i = 0; i < shownClustersMax; i++) shares.show(`c${i}`);
    assert.equal(shares.shareOf(user("a"), scope("c0")), "c0");
    shares.show("one-more");
    assert.equal(shares.size, shownClustersMax);
    assert.notEqual(shares.shareOf(user("a"), scope("c0")), "c0");
    assert.equal(shares.shareOf(user("a"), scope("c1")), "c1");
  });
});
