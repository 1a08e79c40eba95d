//! Provider: a service that events are sent to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::custom_resource;
use crate::meta::{GoDuration, LocalObjectReference};
use crate::notification::{CATEGORIES, GROUP};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A service that events are sent to. It has no status.
    pub struct Provider { spec: ProviderSpec }
    definition: Definition {
        group: GROUP,
        version: "v1beta3",
        kind: "Provider",
        plural: "providers",
        singular: "provider",
        short_names: &[],
        categories: CATEGORIES,
        columns: &[PrinterColumn::AGE],
        status_subresource: false,
        status_default: false,
        substitute_disabled: true,
    };
}

/// Which service it is, and how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "self.type == 'github' || self.type == 'gitlab' || self.type == 'gitea' || self.type == 'bitbucketserver' || self.type == 'bitbucket' || self.type == 'azuredevops' || !has(self.commitStatusExpr)",
    "spec.commitStatusExpr is only supported for the 'github', 'gitlab', 'gitea', 'bitbucketserver', 'bitbucket', 'azuredevops' provider types",
)]))]
pub struct ProviderSpec {
    /// Address of the service. That of the Secret wins.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 2048))]
    pub address: Option<String>,
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Channel, room, topic or whatever the service calls it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 2048))]
    pub channel: Option<String>,
    /// A CEL expression over `event`, `provider` and `alert` that makes the identity of a commit status.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub commit_status_expr: Option<String>,
    /// Not looked at.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: Option<GoDuration>,
    /// Old way to give a proxy.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 2048, "pattern" = "^(http|https)://.*$"))]
    pub proxy: Option<String>,
    /// A Secret with the proxy to use: `address` and, if needed, `username` and `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// A Secret with credentials, and with `address` and `headers` where those are secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose identity is used, with cloud services.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
    /// Send nothing until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How long sending may take; 15 seconds when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::TIMEOUT))]
    pub timeout: Option<GoDuration>,
    /// Which service it is.
    #[serde(rename = "type")]
    pub provider_type: ProviderType,
    /// Name to send under.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 2048))]
    pub username: Option<String>,
}

string_enum! {
    /// A service that events can be sent to.
    pub enum ProviderType {
        /// Slack.
        Slack = "slack",
        /// Discord.
        Discord = "discord",
        /// Microsoft Teams.
        MsTeams = "msteams",
        /// Rocket.Chat.
        Rocket = "rocket",
        /// Any server that takes the event as JSON.
        Generic = "generic",
        /// Any server that takes the event as JSON, with a signature.
        GenericHmac = "generic-hmac",
        /// Commit statuses on GitHub.
        GitHub = "github",
        /// Commit statuses on GitLab.
        GitLab = "gitlab",
        /// Commit statuses on Gitea.
        Gitea = "gitea",
        /// Comments on pull requests on Gitea.
        GiteaPullRequestComment = "giteapullrequestcomment",
        /// Commit statuses on Bitbucket Server.
        BitbucketServer = "bitbucketserver",
        /// Commit statuses on Bitbucket.
        Bitbucket = "bitbucket",
        /// Commit statuses on Azure DevOps.
        AzureDevOps = "azuredevops",
        /// Google Chat.
        GoogleChat = "googlechat",
        /// Google Pub/Sub.
        GooglePubSub = "googlepubsub",
        /// Webex.
        Webex = "webex",
        /// Sentry.
        Sentry = "sentry",
        /// Azure Event Hubs.
        AzureEventHub = "azureeventhub",
        /// Telegram.
        Telegram = "telegram",
        /// Lark.
        Lark = "lark",
        /// Matrix.
        Matrix = "matrix",
        /// Opsgenie.
        Opsgenie = "opsgenie",
        /// Prometheus Alertmanager.
        Alertmanager = "alertmanager",
        /// Annotations in Grafana.
        Grafana = "grafana",
        /// Repository dispatch on GitHub.
        GitHubDispatch = "githubdispatch",
        /// Comments on pull requests on GitHub.
        GitHubPullRequestComment = "githubpullrequestcomment",
        /// Comments on merge requests on GitLab.
        GitLabMergeRequestComment = "gitlabmergerequestcomment",
        /// PagerDuty.
        PagerDuty = "pagerduty",
        /// Datadog.
        Datadog = "datadog",
        /// NATS.
        Nats = "nats",
        /// Zulip.
        Zulip = "zulip",
        /// Traces over OpenTelemetry.
        Otel = "otel",
        /// Zoom.
        Zoom = "zoom",
        /// incident.io.
        IncidentIo = "incident.io",
    }
}
