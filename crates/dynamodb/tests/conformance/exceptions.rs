//! Where a peer does otherwise than DynamoDB, claim by claim, with what it does.

/// A claim that does not hold there, and why.
pub(crate) type Exception = (&'static str, &'static str);

/// Dynoxide 3.2.
pub(crate) const DYNOXIDE: &[Exception] = &[
    ("an_update_makes_a_missing_item", "tells the key of a new item as its old image"),
    ("an_update_answers_what_it_edited", "answers the whole list for an element of it"),
    ("key_attributes_are_never_edited", "judges the condition before the edited paths"),
    ("wrong_conditions_are_refused", "takes a path compared with itself"),
    ("in_takes_a_hundred_operands", "takes 101"),
    ("a_page_ends_at_a_megabyte", "counts the item that crosses the line twice"),
    ("a_local_index_fetches_what_it_does_not_hold", "answers what it holds"),
    ("values_that_cannot_be_index_keys_are_refused", "takes them by an update"),
    ("a_cancelled_transaction_says_why", "does not look at edited keys there"),
    ("a_token_makes_a_transaction_happen_once", "takes an empty token for none"),
    ("a_transaction_reads_in_the_order_asked", "adds the key to a projection there"),
    ("a_new_index_finds_what_is_there", "indexes values of another type"),
];

/// Dynalite 4.0.
pub(crate) const DYNALITE: &[Exception] = &[
    ("values_nest_32_levels", "takes 33"),
    ("clauses_read_the_item_as_it_was", "copies a list after its element was set"),
    ("updates_do_what_they_say", "removes elements by positions that have moved"),
    ("impossible_updates_change_nothing", "takes sums of 39 digits"),
    ("only_updates_answer_new_items", "takes them by a delete"),
    ("conditions_hold_or_fail", "lists are never equal there"),
    ("wrong_conditions_are_refused", "takes maps in an order"),
    ("in_takes_a_hundred_operands", "takes 101"),
    ("a_failed_condition_tells_the_item_if_asked", "does not tell it"),
    ("a_condition_guards_every_kind_of_write", "has no transactions"),
    ("wrong_reads_are_refused", "takes a consistent read of an index"),
    ("segments_share_a_table", "takes a segment of more than a million"),
    ("a_local_index_fetches_what_it_does_not_hold", "answers what it holds"),
    ("values_that_cannot_be_index_keys_are_refused", "takes them by an update"),
    ("a_transaction_happens_whole_or_not_at_all", "has no transactions"),
    ("a_transaction_has_up_to_a_hundred_writes", "has no transactions"),
    ("a_transaction_weighs_at_most_4_mb", "has no transactions"),
    ("a_transaction_names_an_item_once", "has no transactions"),
    ("a_cancelled_transaction_says_why", "has no transactions"),
    ("a_token_makes_a_transaction_happen_once", "has no transactions"),
    ("a_transaction_reads_in_the_order_asked", "has no transactions"),
    ("a_new_index_finds_what_is_there", "a table can be given no new index"),
];

/// Moto 5.2, which judges little: it is for those whose requests are right.
pub(crate) const MOTO: &[Exception] = &[
    ("an_item_weighs_at_most_400_kb", "counts more than the item"),
    ("sets_are_never_empty", "takes empty sets inside others"),
    ("values_nest_32_levels", "takes 33"),
    ("key_values_have_a_greatest_length", "reads by longer ones"),
    ("key_values_are_never_empty", "an update by one is a fault of the server"),
    ("a_key_is_exactly_the_declared_attributes", "takes keys of another type"),
    ("an_update_makes_a_missing_item", "cannot do one without actions"),
    ("an_update_answers_what_it_edited", "answers the whole map for a part of it"),
    ("clauses_read_the_item_as_it_was", "copies a list after its element was set"),
    ("updates_do_what_they_say", "puts elements past the end in the order given"),
    ("impossible_updates_change_nothing", "takes a field of a list"),
    ("key_attributes_are_never_edited", "judges the condition before the edited paths"),
    ("conditions_hold_or_fail", "a comparison of two types is a fault of the server"),
    ("wrong_conditions_are_refused", "takes a path compared with itself"),
    ("in_takes_a_hundred_operands", "takes 101"),
    ("a_page_ends_at_its_limit", "knows at the last item that there is no other"),
    ("a_page_ends_at_a_megabyte", "tells made-up units of capacity"),
    ("a_projection_cuts_items_down", "cannot do all paths"),
    ("wrong_reads_are_refused", "takes a limit of 0"),
    ("a_read_goes_on_behind_any_key", "only behind keys that are there"),
    ("segments_share_a_table", "takes a segment of more than a million"),
    ("a_local_index_fetches_what_it_does_not_hold", "answers what it holds"),
    ("values_that_cannot_be_index_keys_are_refused", "takes them by an update"),
    ("a_batch_answers_up_to_16_mb", "cannot hold items of nearly 400 KB"),
    ("a_batch_writes_up_to_25_items", "takes 26"),
    ("a_batch_with_a_wrong_write_does_nothing", "takes one item twice"),
    ("a_transaction_has_up_to_a_hundred_writes", "takes one of none"),
    ("a_transaction_weighs_at_most_4_mb", "takes more"),
    ("a_transaction_names_an_item_once", "reads one twice"),
    ("a_cancelled_transaction_says_why", "fails the call instead"),
    ("a_token_makes_a_transaction_happen_once", "knows no tokens"),
    ("a_transaction_reads_in_the_order_asked", "knows no projection there"),
    ("a_new_index_finds_what_is_there", "an index that is not there is a fault of the server"),
];
