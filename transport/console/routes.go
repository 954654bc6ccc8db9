package console

import "github.com/seriatimq/seriatim/transport/ops"

// route is one path of the console, with the role that it needs.
type route struct {
	pattern string
	needs   ops.Role
	keys    bool // sessions of access keys may use it: the native API checks their policies
	serve   func(*page)
}

// routes lists the paths of the console. A route that changes something is a POST.
func routes() []route {
	return []route{
		{"GET /login", ops.NoRole, true, (*page).showLogin},
		{"POST /login", ops.NoRole, true, (*page).logIn},
		{"POST /logout", ops.Viewer, true, (*page).logOut},
		{"GET /{$}", ops.Viewer, true, (*page).overview},
		{"GET /search", ops.Viewer, true, (*page).search},
		{"GET /charts", ops.Viewer, true, (*page).charts},

		{"GET /queues", ops.Viewer, true, (*page).queues},
		{"POST /queues", ops.Administrator, true, (*page).createQueue},
		{"GET /queues/{name}", ops.Viewer, true, (*page).queueOverview},
		{"GET /queues/{name}/messages", ops.Operate, true, (*page).queueMessages},
		{"GET /queues/{name}/message", ops.Operate, true, (*page).message},
		{"GET /queues/{name}/groups", ops.Viewer, true, (*page).queueGroups},
		{"GET /queues/{name}/group", ops.Viewer, true, (*page).group},
		{"GET /queues/{name}/dedup", ops.Viewer, true, (*page).queueDeduplication},
		{"GET /queues/{name}/consumers", ops.Viewer, true, (*page).queueConsumers},
		{"GET /queues/{name}/dlq", ops.Viewer, true, (*page).queueDeadLetters},
		{"GET /queues/{name}/settings", ops.Viewer, true, (*page).queueSettings},
		{"GET /queues/{name}/policy", ops.Viewer, true, (*page).queuePolicy},
		{"GET /queues/{name}/code", ops.Viewer, true, (*page).queueCode},
		{"GET /queues/{name}/tail", ops.Operate, true, (*page).tail},
		{"POST /queues/{name}/send", ops.Operate, true, (*page).sendMessage},
		{"POST /queues/{name}/pause", ops.Operate, true, (*page).pauseQueue},
		{"POST /queues/{name}/messages/move", ops.Operate, true, (*page).moveMessages},
		{"POST /queues/{name}/messages/delete", ops.Operate, true, (*page).deleteMessages},
		{"POST /queues/{name}/messages/matching", ops.Operate, true, (*page).changeMatching},
		{"POST /queues/{name}/purge", ops.Operate, true, (*page).purgeQueue},
		{"POST /queues/{name}/delete", ops.Administrator, true, (*page).deleteQueue},
		{"POST /queues/{name}/settings", ops.Administrator, true, (*page).setQueue},
		{"POST /queues/{name}/tags", ops.Administrator, true, (*page).tagQueue},
		{"POST /queues/{name}/policy", ops.Administrator, true, (*page).setQueuePolicy},
		{"POST /queues/{name}/group/release", ops.Operate, true, (*page).releaseGroup},
		{"POST /queues/{name}/dedup/forget", ops.Operate, true, (*page).forgetDeduplication},
		{"POST /queues/{name}/dead-letter-queue", ops.Administrator, true, (*page).setDeadLetterQueue},
		{"POST /queues/{name}/connections/close", ops.Operate, false, (*page).closeConnection},
		{"POST /queues/{name}/redrive", ops.Operate, true, (*page).startRedrive},
		{"POST /queues/{name}/redrive/cancel", ops.Operate, true, (*page).cancelRedrive},

		{"GET /topics", ops.Viewer, true, (*page).topics},
		{"POST /topics", ops.Administrator, true, (*page).createTopic},
		{"GET /topics/{name}", ops.Viewer, true, (*page).topic},
		{"GET /topics/{name}/rules", ops.Viewer, true, (*page).rules},
		{"POST /topics/{name}/rules", ops.Administrator, true, (*page).putRule},
		{"POST /topics/{name}/rules/remove", ops.Administrator, true, (*page).removeRule},
		{"POST /topics/{name}/scheduled/cancel", ops.Operate, true, (*page).cancelScheduled},
		{"POST /topics/{name}/publish", ops.Operate, true, (*page).publish},
		{"POST /topics/{name}/subscribe", ops.Administrator, true, (*page).subscribe},
		{"POST /topics/{name}/unsubscribe", ops.Administrator, true, (*page).unsubscribe},
		{"POST /topics/{name}/filter", ops.Administrator, true, (*page).setFilter},
		{"POST /topics/{name}/replay", ops.Administrator, true, (*page).replay},
		{"POST /topics/{name}/delete", ops.Administrator, true, (*page).deleteTopic},

		{"GET /dlqs", ops.Viewer, true, (*page).deadLetterQueues},

		{"GET /cluster", ops.Viewer, false, (*page).cluster},
		{"POST /cluster/{change}", ops.Operate, false, (*page).changeCluster},
		{"GET /access", ops.Operate, false, (*page).access},
		{"GET /access/simulator", ops.Operate, false, (*page).simulator},
		{"POST /access/keys", ops.Administrator, false, (*page).createKey},
		{"POST /access/keys/{id}/{change}", ops.Administrator, false, (*page).changeKey},
		{"POST /access/policies", ops.Administrator, false, (*page).putPolicy},
		{"POST /access/accounts", ops.Administrator, false, (*page).createAccount},
		{"POST /access/accounts/{id}/{change}", ops.Administrator, false, (*page).changeAccount},
		{"GET /audit", ops.Operate, false, (*page).audit},
		{"POST /audit/level", ops.Administrator, false, (*page).setLogLevel},
	}
}
