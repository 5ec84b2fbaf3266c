"""Messages that the proxy keeps invisible for the clients that have them (``DefaultReceiptHandleManager``), and gives
back when a client leaves (spec grpc 2.5, 2.6, 4). A client goes on naming the handle that it got first."""

from functools import partial

from protocols.engine.nodes import Message, Outbox, Time
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.messages.popping import Changed, ChangeInvisible, Handle
from rocketmq_selfbalance.pop.renewing import renewal
from rocketmq_selfbalance.proxy.state import Kept, Proxy, Renewed


def keep(proxy: Proxy, now: Time, kept: Kept, topic: str, handle: Handle, attempt: int) -> None:
    """From now on the message is renewed."""
    proxy.renewed[kept] = Renewed(topic, handle, now, attempt)


def newest(proxy: Proxy, kept: Kept, *, done: bool = True) -> Handle | None:
    """The handle that counts in place of the first one; None where the message is not renewed. ``done``: nor is it
    from now on."""
    found = proxy.renewed.pop(kept, None) if done else proxy.renewed.get(kept)
    return None if found is None else found.handle


def renew(proxy: Proxy, now: Time, out: Outbox) -> None:
    """Change what is visible soon."""
    settings, wall = proxy.settings, proxy.wall(now)
    for kept, each in list(proxy.renewed.items()):
        left = each.handle.visible_at - wall
        if each.busy or left >= settings.renew_ahead_ms:
            continue
        age = now - each.delivered
        invisible, ends = renewal(left, age, settings.renew_most_ms, each.renewals, each.attempt - 1)
        if ends:
            del proxy.renewed[kept]
        else:
            each.busy = True
        if invisible is not None:
            _change(proxy, kept, each, invisible, out)


def _change(proxy: Proxy, kept: Kept, each: Renewed, invisible: int, out: Outbox) -> None:
    def renewed(now: Time, answer: Message | None, out: Outbox) -> None:
        each.busy = False
        if isinstance(answer, Changed) and answer.code == SUCCESS and answer.handle is not None:
            each.handle, each.renewals, each.failures = answer.handle, each.renewals + 1, 0
            return
        each.failures += 1
        if each.failures >= proxy.settings.renew_most_failures and proxy.renewed.get(kept) is each:
            del proxy.renewed[kept]

    change = partial(ChangeInvisible, group=kept.group, topic=each.topic, handle=each.handle, invisible=invisible)
    proxy.ask(each.handle.broker, change, renewed, out)


def give_back(proxy: Proxy, now: Time, client_id: str, out: Outbox) -> None:
    """The client has left: what is renewed for it can be had again soon."""
    for kept in [kept for kept in proxy.renewed if kept.client_id == client_id]:
        each = proxy.renewed.pop(kept)
        give_back_one(proxy, kept.group, each.topic, each.handle, out)


def give_back_one(proxy: Proxy, group: str, topic: str, handle: Handle, out: Outbox, *, suspend: bool = False) -> None:
    """The message can be had again soon; ``suspend``: nobody has had it."""
    invisible = int(proxy.settings.clear_invisible_ms)
    change = partial(ChangeInvisible, group=group, topic=topic, handle=handle, invisible=invisible, suspend=suspend)
    proxy.ask(handle.broker, change, lambda now, answer, out: None, out)
